"""What a setting would make of some events."""

from datetime import UTC, datetime, timedelta

from muster.engine.idempotency_preview import A_NEW_UUID, Foreseen, Sample, Verdict, preview
from muster.model.json import JsonObject

AT = datetime(2026, 3, 4, 9, 7, tzinfo=UTC)
START = int(datetime(2026, 3, 4, 9, tzinfo=UTC).timestamp()) * 1000


def sample(minutes: int = 0, **context: object) -> Sample:
    return Sample(dict(context), "E", None, AT + timedelta(minutes=minutes))


def test_each_is_compared_with_those_before_it() -> None:
    setting: JsonObject = {"strategy": "CONTEXT_TIME_WINDOW", "contextFields": ["u"], "ttlMinutes": 15}
    events = [sample(u=1), sample(7, u=1), sample(u=2), sample(8, u=1), sample(7, u=1)]
    first, later = f"trigger_t_u_1_{START}", f"trigger_t_u_1_{START + 15 * 60_000}"
    assert preview(setting, "t", events) == [
        Foreseen(Verdict.RUN, first),
        Foreseen(Verdict.SKIPPED, first, "DUPLICATE", duplicate_of=0),
        Foreseen(Verdict.RUN, f"trigger_t_u_2_{START}"),
        Foreseen(Verdict.RUN, later),
        Foreseen(Verdict.SKIPPED, first, "DUPLICATE", duplicate_of=0),
    ]


def test_what_would_be_refused_says_what_is_missing() -> None:
    setting: JsonObject = {"strategy": "EVENT_BASED", "failOnMissingContext": True}
    [refused] = preview(setting, "t", [sample()])
    assert (refused.verdict, refused.reason, refused.field) == (Verdict.REFUSED, "MISSING_FIELD", "eventId")


def test_what_fails_is_skipped_and_is_nobodys_first() -> None:
    setting: JsonObject = {"strategy": "CUSTOM_EXPRESSION", "customExpression": "#{ctx.u}"}
    seen = preview(setting, "t", [sample(), sample(), sample(u="x"), sample(u="x")])
    assert [each.reason for each in seen] == ["EXPRESSION_ERROR", "EXPRESSION_ERROR", None, "DUPLICATE"]
    assert seen[3].duplicate_of == 2


def test_what_always_runs_runs() -> None:
    assert preview({"strategy": "NONE"}, "t", [sample(), sample()]) == [Foreseen(Verdict.RUN)] * 2
    assert preview({"strategy": "UUID"}, "t", [sample()] * 2) == [Foreseen(Verdict.RUN, A_NEW_UUID)] * 2


def test_keys_that_read_alike_are_no_duplicates() -> None:
    setting: JsonObject = {"strategy": "CONTEXT_BASED", "contextFields": ["a", "b"]}
    seen = preview(setting, "t", [sample(a="1_b_2", b=""), sample(a="1", b="2_b_")])
    assert [each.verdict for each in seen] == [Verdict.RUN, Verdict.RUN]
    assert seen[0].key == seen[1].key
