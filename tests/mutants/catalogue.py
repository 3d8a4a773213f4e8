"""The guards of the engine and the store, each with what should notice that it is gone."""

from mutants.hunt import Mutant

ON_A_DATABASE = "tests/contract/test_engine_on_a_database.py"
HISTORY = "tests/contract/test_recovered_history.py"
GUARDS = "tests/contract/test_guards.py"

# The four that everything else rests on: these run with the suite.
FIRST = [
    Mutant(
        "the fence",
        "store/journal.py",
        "return row is not None and row.fence == fence",
        "return row is not None",
        f"{ON_A_DATABASE} overtaken and sqlite",
    ),
    Mutant(
        "the journal, when it is replayed",
        "engine/live.py",
        "            _replay(live, entry)\n",
        "            continue\n",
        f"{ON_A_DATABASE} repeats_no_journaled_effect and sqlite",
    ),
    Mutant(
        "the unique key of an execution",
        "store/dialect.py",
        ".values(list(rows)).on_conflict_do_nothing(index_elements=key)",
        '.prefix_with("OR REPLACE").values(list(rows))',
        f"{GUARDS} starting_again and sqlite",
    ),
    Mutant(
        "commit, then acknowledge",
        "store/committer.py",
        "            results = await self._commit(statements)\n",
        "            results = [None] * len(writes)\n"
        "            for write in writes:\n"
        "                if not write.answer.done():\n"
        "                    write.answer.set_result(True)\n"
        "            await self._commit(statements)\n",
        "sim committer 50",
    ),
]

MUTANTS = [
    *FIRST,
    Mutant(
        "an effect's result is durable before the next effect",
        "engine/drive.py",
        "                if live.owes_a_write or live.closing():\n",
        "                if live.closing():\n",
        f"{GUARDS} durable_before and sqlite",
    ),
    Mutant(
        "who was overtaken is told so",
        "store/executions.py",
        "        if not mine:\n            raise Lost(",
        "        if False:\n            raise Lost(",
        "sim engine 300",
    ),
    Mutant(
        "a claim of what is due: nobody has it",
        "store/executions.py",
        "and_(E.resume_at <= AT, E.owner.is_(None), E.status.in_(FREE_TO_TAKE))",
        "and_(E.resume_at <= AT, E.status.in_(FREE_TO_TAKE))",
        f"{GUARDS} only_where_nobody_has_it and sqlite",
    ),
    Mutant(
        "a claim of what is due: its time has come",
        "store/executions.py",
        "and_(E.resume_at <= AT, E.owner.is_(None)",
        "and_(E.resume_at.is_not(None), E.owner.is_(None)",
        f"{ON_A_DATABASE} taken_up_when_it_is_due and sqlite",
    ),
    Mutant(
        "a claim of what is abandoned: its lease has run out",
        "store/executions.py",
        'and_(E.lease_until < AT, E.takeovers == bindparam("before"))',
        'and_(E.lease_until.is_not(None), E.takeovers == bindparam("before"))',
        f"{GUARDS} lease_has_run_out and sqlite",
    ),
    Mutant(
        "a claim has a new fence",
        "store/executions.py",
        '    "fence": E.fence + 1,\n',
        '    "fence": E.fence,\n',
        "sim engine 300",
    ),
    Mutant(
        "letting go has a new fence",
        "store/leases.py",
        "resume_at=AT, fence=E.fence + 1)",
        "resume_at=AT)",
        "tests/contract/test_handing_on.py beyond_the_grace and sqlite",
    ),
    Mutant(
        "a claim begins a lease",
        "store/executions.py",
        '    "lease_until": bindparam("until"),\n',
        '    "lease_until": None,\n',
        "sim engine 300",
    ),
    Mutant(
        "a lease is renewed by its owner only",
        "store/leases.py",
        '    .where(E.id.in_(IDS), E.owner == bindparam("held_by"))\n',
        "    .where(E.id.in_(IDS))\n",
        f"{GUARDS} renews and sqlite",
    ),
    Mutant(
        "earlier incarnations of this instance, not others",
        "store/executions.py",
        "and_(E.owner.startswith(prefix, autoescape=True), E.owner != owner)",
        "and_(E.owner.is_not(None), E.owner != owner)",
        f"{ON_A_DATABASE} repeats_no_journaled_effect and sqlite",
    ),
    Mutant(
        "earlier incarnations of this instance, not itself",
        "store/executions.py",
        "and_(E.owner.startswith(prefix, autoescape=True), E.owner != owner)",
        "E.owner.startswith(prefix, autoescape=True)",
        f"{GUARDS} from_itself and sqlite",
    ),
    Mutant(
        "what has ended absorbs a repeated write",
        "store/executions.py",
        "            if mine and locked[item.execution_id].status not in FINAL\n",
        "            if mine\n",
        "sim engine 300",
    ),
    Mutant(
        "what has ended absorbs events",
        "engine/advance.py",
        "    if state.finished:\n        return Decision(state)\n",
        "",
        "tests/unit/engine/test_advance.py",
    ),
    Mutant(
        "what has ended takes no signals",
        "store/acts.py",
        "row is not None and row.status not in FINAL and sent.fence",
        "row is not None and sent.fence",
        f"{ON_A_DATABASE} cancelled_by_a_signal and sqlite",
    ),
    Mutant(
        "a signal makes due what nobody owns",
        "store/answers.py",
        "    connection.execute(parked.values(resume_at=at))\n",
        "",
        f"{ON_A_DATABASE} cancelled_by_a_signal and sqlite",
    ),
    Mutant(
        "a signal that comes while its owner parks",
        "store/executions.py",
        "_checkpoint_row(laying, item, at, item.execution_id in reached)",
        "_checkpoint_row(laying, item, at, False)",
        f"{ON_A_DATABASE} while_its_owner_parks and sqlite",
    ),
    Mutant(
        "signals stay until a checkpoint holds what they did",
        "store/executions.py",
        '    update_rows(connection, execution_signal, rows, ("id",))\n',
        '    connection.execute(delete(execution_signal).where(S.id.in_([row["id"] for row in rows])))\n',
        f"{HISTORY} undone_after_a_cancellation and sqlite",
    ),
    Mutant(
        "signals have their place in the history",
        "store/executions.py",
        '    update_rows(connection, execution_signal, rows, ("id",))\n',
        "",
        f"{HISTORY} undone_after_a_cancellation and sqlite",
    ),
    Mutant(
        "signals that came too late go with the end",
        "store/executions.py",
        "        connection.execute(delete(execution_signal).where(S.execution_id.in_(ended)))\n",
        "        pass\n",
        f"{HISTORY} too_late and sqlite",
    ),
    Mutant(
        "a lease is looked at before an effect",
        "engine/attempt.py",
        "        if asyncio.get_running_loop().time() - live.confirmed > self._lease:\n",
        "        if False:\n",
        "sim engine 1000",
    ),
    Mutant(
        "progress forgets takeovers",
        "store/executions.py",
        "        _forget_takeovers(connection,",
        "        0 and _forget_takeovers(connection,",
        "tests/contract/test_dead_letters.py forgotten_with_progress and sqlite",
    ),
    Mutant(
        "what brings its owners down is given up",
        "engine/taking.py",
        "        if owned.takeovers <= self._most_takeovers:\n            return live, todo\n",
        "        if True:\n            return live, todo\n",
        f"{GUARDS} given_up_is_not_run_again and sqlite",
    ),
    Mutant(
        "suspects are tried in smaller and smaller company",
        "engine/instance.py",
        "        limit = min(CLAIMED_AT_ONCE if tried is None else tried, self._places)\n",
        "        limit = min(CLAIMED_AT_ONCE, self._places)\n",
        "tests/contract/test_trials.py bad_company and sqlite",
    ),
    Mutant(
        "items that are done are not done again",
        "engine/item_journal.py",
        "        if not self._resumed:\n",
        "        if True:\n",
        f"{ON_A_DATABASE} repeats_only_what_failed and sqlite",
    ),
    Mutant(
        "a compensation has its own key",
        "engine/attempt.py",
        "            call = call._replace(item_key=COMPENSATION)\n",
        "",
        "sim engine 300",
    ),
    Mutant(
        "attempts count on",
        "engine/live.py",
        '        case "retrying" if row.due:\n',
        '        case "retrying" if row.due is row:\n',
        f"{HISTORY} counting_attempts and sqlite",
    ),
    Mutant(
        "a retry by hand wins under the fence it saw",
        "store/acts.py",
        "row.fence != again.before.fence or row.status not in FINAL",
        "row.status not in FINAL",
        f"{GUARDS} try_an_execution_again and sqlite",
    ),
    Mutant(
        "a retry by hand is of what has ended",
        "store/acts.py",
        "row.fence != again.before.fence or row.status not in FINAL",
        "row.fence != again.before.fence",
        f"{GUARDS} try_an_execution_again and sqlite",
    ),
    Mutant(
        "rows are locked in the order of their keys",
        "store/dialect.py",
        "sorted(wanted), columns",
        "list(wanted), columns",
        f"{GUARDS} locked_in_the_order and postgres",
    ),
    Mutant(
        "a visit that is over takes no second outcome",
        "engine/advance.py",
        "        if token.node == node_id and token.visit == visit and token.phase is not Phase.FAILED:\n",
        "        if token.node == node_id and token.phase is not Phase.FAILED:\n",
        "tests/unit/engine",
    ),
    Mutant(
        "a join waits for whoever can still reach it",
        "engine/advance.py",
        "        if not any(graph.can_reach(node_id, token.node) for node_id in others):\n",
        "        if True:\n",
        "tests/unit/engine",
    ),
]
