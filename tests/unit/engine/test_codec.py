"""A checkpoint gives back the state that it was made of."""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from muster.engine.codec import decode, encode
from muster.engine.state import Ending, ExecutionStatus, Failure, Phase, State, Token

names = st.text(min_size=1, max_size=8)
visits = st.integers(min_value=0, max_value=9)
places = st.tuples(names, visits)
times = st.integers(min_value=0, max_value=10**15).map(
    lambda micros: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
)
tokens = st.builds(
    Token,
    node=names,
    visit=visits,
    phase=st.sampled_from(Phase),
    attempt=st.integers(min_value=1, max_value=9),
    due=st.none() | times,
    woken=st.booleans(),
    lineage=st.lists(places, max_size=2).map(tuple),
    deadline=st.none() | times,
    late=st.booleans(),
)
endings = st.builds(
    Ending,
    status=st.sampled_from([ExecutionStatus.FAILED, ExecutionStatus.CANCELLED]),
    node=st.none() | names,
    failure=st.builds(Failure, type=names, message=names),
    compensate=st.booleans(),
)
states = st.builds(
    State,
    tokens=st.lists(tokens, max_size=3).map(tuple),
    context=st.just({"x": 1}),
    outputs=st.just({"a": None}),
    visits=st.dictionaries(names, visits, max_size=3),
    to_undo=st.lists(places, max_size=3).map(tuple),
    held=st.booleans(),
    ending=st.none() | endings,
    undoing=st.none() | places,
    finished=st.none() | st.sampled_from(ExecutionStatus),
    interrupted=st.none() | endings,
    has_asides=st.just(False),  # whoever reads the context knows
)


@given(states)
def test_a_state_survives_its_checkpoint(state: State) -> None:
    document = json.loads(json.dumps(encode(state)))
    assert decode(document, state.context, state.outputs) == state
