"""The revisions, in order. One that was released is never changed: a change is another revision."""
