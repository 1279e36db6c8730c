"""Every exercise: its blank fails kindly, its solution passes, and answers that are nearly right are told what is wrong."""

from __future__ import annotations

import inspect
import re

import pytest
from tests.course.cells import mended, run_cell

from commonboard.course import exercises as ex
from commonboard.course.exercise import Exercise, Feedback, NotSolvedError, NotSolvedYet
from commonboard.course.lint import LONGEST_CELL, SOFT_WORDS


@pytest.fixture(params=ex.names())
def exercise(request: pytest.FixtureRequest) -> Exercise:
    found: Exercise = getattr(ex, request.param)
    found.feedback = None
    return found


def test_the_blank_fails_kindly_and_the_notebook_runs_on(exercise: Exercise) -> None:
    feedback = run_cell(exercise.blank)
    assert isinstance(feedback, Feedback)
    assert repr(feedback).startswith("Put your code")
    assert f"ex.{exercise.name}.hint()" in repr(feedback)
    with pytest.raises(NotSolvedError, match=exercise.name):
        exercise.assert_solved()


def test_the_solution_passes(exercise: Exercise) -> None:
    feedback = run_cell(exercise.answer)
    assert repr(feedback).startswith("Solved. ")
    exercise.assert_solved()


def test_the_solution_passes_however_often_it_is_run_and_always_with_the_same_words(exercise: Exercise) -> None:
    first, second = run_cell(exercise.answer), run_cell(exercise.answer)
    assert (repr(first), first._repr_html_()) == (repr(second), second._repr_html_())


def test_nobody_has_solved_it_before_a_check(exercise: Exercise) -> None:
    assert not exercise.solved
    with pytest.raises(NotSolvedError, match="nobody has checked it"):
        exercise.assert_solved()


def test_it_has_a_question_up_to_three_hints_and_a_reason(exercise: Exercise) -> None:
    assert exercise.question.startswith("**")
    assert 1 <= len(exercise.hints) <= 3
    assert exercise.why
    assert exercise.name in ex.names()


def test_its_cells_are_short_and_end_in_the_check(exercise: Exercise) -> None:
    for code in (exercise.blank, exercise.answer):
        lines = [line for line in code.splitlines() if line.strip()]
        assert len(lines) <= LONGEST_CELL
        assert lines[-1].startswith(f"ex.{exercise.name}.check(")
        assert max(map(len, lines)) <= 100
    assert exercise.blank.count("ex.not_solved_yet()") >= 1
    assert "not_solved_yet" not in exercise.answer


def test_its_words_are_plain(exercise: Exercise) -> None:
    said = " ".join([exercise.question, exercise.why, *exercise.hints])
    assert [word for word in SOFT_WORDS if re.search(rf"\b{word}\b", said, re.IGNORECASE)] == []


ADD = 'await me.shared.update("open_questions", with_mine)\n    return True'
TRY = (
    'try:\n        await me.shared.update("open_questions", with_mine, cb.Optimistic(attempts=3))\n    except cb.ConflictError:\n'
)
OWN = "async def ask(me, question):\n"
DIGEST = "async def digest(me):\n"

# The exercise, the nearly right answer, and what it is told.
NEARLY = {
    "the loss is luck, as it was": ("make_the_loss_certain", [], r"^Both questions survived in \d+ of 200 runs"),
    "one agent does not write its question": (
        "make_the_loss_certain",
        [('[*questions, f"{me.name} asks"]', "[*questions, 'x']")],
        r"^Web never wrote its question in 200 of 200 runs",
    ),
    "the loss is likely and not certain": (
        "make_the_loss_certain",
        [("        return", "        await me.value('shared/open_questions')\n        return")],
        r"^Both questions survived in \d+ of 200 runs",
    ),
    "both write blindly": (
        "make_the_loss_certain",
        [
            (
                'await me.shared.update("open_questions", add)',
                'await me.shared.write("open_questions", [f"{me.name} asks"])',
            )
        ],
        r"^A blind write in 200 of 200 runs.*builds on nothing",
    ),
    "no two names": (
        "name_the_two",
        [("def name_the_two(run):", "def name_the_two(run):\n    return None")],
        r"You gave None; two names",
    ),
    "an async answer to what is over": (
        "name_the_two",
        [("def name_the_two(run):", "async def name_the_two(run):\n    return 'web', 'docs'")],
        r"name_the_two is async",
    ),
    "the names the wrong way round": (
        "name_the_two",
        [
            (
                "def name_the_two(run):",
                "def name_the_two(run):\n    return [e.actor for e in run.log if 'open' in e.key][::-1]",
            )
        ],
        r"wrote last, and \w+'s question is gone",
    ),
    "the policy that drops work": (
        "pick_the_policy",
        [("def pick(table):", "def pick(table):\n    return table[0].policy")],
        r"keeps \d+ of \d+ here, so work is gone",
    ),
    "one that keeps everything, and is dear": (
        "pick_the_policy",
        [("def pick(table):", "def pick(table):\n    return [row.policy for row in table if row.kept == row.intended][0]")],
        r"another row does so for fewer tokens",
    ),
    "the total as it was": ("hold_the_total", [], r"^The total was wrong in 200 of 200 runs"),
    "the look-up inside the change": (
        "hold_the_total",
        [
            ('total = await me.value("shared/total")', "async def change(total):\n        return total + await look_up()"),
            ('await me.shared.write("total", total + await look_up())', 'await me.shared.update("total", change)'),
        ],
        r"looked up more than once",
    ),
    "one shared list": (
        "own_keys_then_digest",
        [
            (OWN, f"{OWN}    await me.shared.append('questions', question)\n"),
            (DIGEST, f"{DIGEST}    return await me.value('shared/questions')\n"),
        ],
        r"^Two agents wrote shared/questions in 200 of 200 runs",
    ),
    "each write forgets the one before": (
        "own_keys_then_digest",
        [
            (OWN, f"{OWN}    await me.write('questions', [question])\n"),
            (DIGEST, f"{DIGEST}    return [q for e in await me.list() for q in e.value]\n"),
        ],
        r"^A question was missing in 200 of 200 runs",
    ),
    "the digest is no list": (
        "own_keys_then_digest",
        [(OWN, f"{OWN}    await me.write(question[:5], question)\n"), (DIGEST, f"{DIGEST}    return 'all of them'\n")],
        r"^The digest was no list",
    ),
    "it loses silently, as it did": ("bounded_retries", [], r"^A question was lost silently in 200 of 200 runs"),
    "it tries for ever": (
        "bounded_retries",
        [("with_mine)\n", "with_mine, policy=cb.Optimistic())\n")],
        r"^An agent tried more than 3 times in \d+ of 200 runs",
    ),
    "it gives up and says nothing": (
        "bounded_retries",
        [(ADD, f"{TRY}        return None\n    return True")],
        r"^The user was told nothing in \d+ of 200 runs",
    ),
    "it gives up and says that it worked": (
        "bounded_retries",
        [(ADD, f"{TRY}        pass\n    return True")],
        r"^A question was lost silently in \d+ of 200 runs",
    ),
    "it says that something failed, and not what": (
        "bounded_retries",
        [(ADD, f"{TRY}        return 'Please try again.'\n    return True")],
        r"^The user cannot know what failed in \d+ of 200 runs",
    ),
    "it gives up at once": (
        "bounded_retries",
        [(ADD, f"{TRY.replace('3', '1')}        return f'not added: {{question}}'\n    return True")],
        r"^An agent gave up before 3 tries in \d+ of 200 runs",
    ),
    "it never tries": ("bounded_retries", [(ADD, "return f'not added: {question}'")], r"^An agent gave up before 3 tries in 200"),
    "it appends": (
        "bounded_retries",
        [(ADD, "await me.shared.append('open_questions', question)\n    return True")],
        r"^An agent appended or deleted in 200 of 200 runs",
    ),
    "each retry thinks again": ("cheap_retry", [], r"^An agent paid for its thought again in 200 of 200 runs"),
    "it thinks once and overwrites": (
        "cheap_retry",
        [('update("findings", add)', "write('findings', await add(await me.value('shared/findings')))")],
        r"^A finding was lost in 200 of 200 runs",
    ),
    "it does not think": (
        "cheap_retry",
        [("await me.think(seconds=30, tokens=800)", "pass")],
        r"^An agent thought for less than 800 tokens in 200 of 200 runs",
    ),
    "two take the task": (
        "claim_the_task",
        [],
        r"^2 agents took task 7 in \d+ of 200 runs. The first, seed \d+: \w+ and \w+ both did",
    ),
    "nobody takes the task": ("claim_the_task", [("return True", "return False")], r"^Nobody took task 7 in 200 of 200 runs"),
    "the owner is not written down": (
        "claim_the_task",
        [('await me.shared.write("task-7/owner", me.name)', "return await me.shared.compare_and_set('lock', None, me.name)")],
        r"^The board named another owner in 200 of 200 runs",
    ),
    "every number is added": (
        "merge_three_replicas",
        [("right):\n", "right):\n    return {n: left.get(n, 0) + right.get(n, 0) for n in {*left, *right}}\n")],
        r"^Here is the shortest history(?s:.*)Fails \(spec\) after count\(\)@a  b<-a  a<-b",
    ),
    "the right one wins": (
        "merge_three_replicas",
        [("right):\n", "right):\n    return {**left, **right}\n")],
        r"^Here is the shortest history(?s:.*)Fails \(spec\)",
    ),
    "a tally is changed": (
        "merge_three_replicas",
        [("right):\n", "right):\n    left.update(right)\n    return left\n")],
        r"^merge changed one of the two tallies",
    ),
    "the merge is no dict": (
        "merge_three_replicas",
        [("right):\n", "right):\n    return 3\n")],
        r"^merge\(\{'a': 2\}, \{'b': 1\}\) gave 3, where a dict belongs",
    ),
    "the law holds": (
        "find_the_broken_law",
        [("...", "'commutative'")],
        r"merge\(a, b\) is 3 and merge\(b, a\) is 3. They are equal",
    ),
    "the numbers do not show it": (
        "find_the_broken_law",
        [("...", "'idempotent'"), ("1, 2, 3", "0, 2, 3")],
        r"merge\(a, a\) is 0 and a is 0",
    ),
    "no such law": ("find_the_broken_law", [("...", "'distributive'")], r"^'distributive' is none of the three laws"),
    "no numbers": ("find_the_broken_law", [("...", "'idempotent'"), ("1, 2, 3", "'a', 2, 3")], r"^a, b and c are whole numbers"),
    "too little": (
        "find_the_broken_law",
        [("return law, a, b, c", "return 'idempotent'")],
        r"gives a law and three whole numbers",
    ),
    "nothing chosen": (
        "choose_the_type",
        [],
        r"^0 of 5 choices hold(?s:.*)open questions: nothing chosen. Choose one of set, counter",
    ),
    "a counter for a budget": (
        "choose_the_type",
        [("...", "'counter'")],
        r"^1 of 5 choices hold(?s:.*)✓ pages read: counter\.(?s:.*)✗ a budget never below 0: counter. Each side sees 10 left",
    ),
    "a situation is missing": (
        "choose_the_type",
        [('"pages read": ...,', "")],
        r"a choice for each of: open questions, pages read",
    ),
}


@pytest.mark.parametrize("case", NEARLY)
def test_an_answer_that_is_nearly_right_is_told_what_is_wrong(case: str) -> None:
    name, changes, told = NEARLY[case]
    feedback = mended(name, *changes)
    assert not feedback.solved
    assert re.search(told, repr(feedback))
    if feedback.run is not None:
        assert f"replay={feedback.run.token!r}" in repr(feedback)
        assert f"ex.{name}.feedback.run.stepper()" in repr(feedback)
        assert getattr(ex, name).feedback.run is feedback.run
        assert "<img alt=" in feedback._repr_html_()


def test_other_ways_that_hold_are_solved_too() -> None:
    by_name = "        await me.think(seconds=1 if me.name == 'web' else 2)\n        return [*"
    assert mended("make_the_loss_certain", ("        return [*", by_name)).solved
    update = "entry = await me.shared.update('task-7/owner', lambda owner: owner or me.name)\n    return entry.value == me.name"
    assert mended("claim_the_task", ('await me.shared.write("task-7/owner", me.name)\n    return True', update)).solved
    compared = "return await me.shared.compare_and_set('task-7/owner', None, me.name)"
    assert mended("claim_the_task", ('await me.shared.write("task-7/owner", me.name)\n    return True', compared)).solved


def test_the_three_hints_come_one_after_another_and_the_last_one_stays() -> None:
    given = Exercise("mine", "**Mine.**", "", ("first", "second"), "", "", lambda: Feedback(True, ()))
    assert repr(given.hint()) == "Hint 1 of 2: first"
    second = given.hint()
    assert repr(second) == "Hint 1 of 2: first\nHint 2 of 2: second"
    assert second._repr_html_() == "<p>Hint 1 of 2: first</p><details><summary>Hint 2 of 2</summary><p>second</p></details>"
    assert given.hint() == second


def test_a_first_hint_says_how_to_get_the_next_one_and_a_solution_is_hidden() -> None:
    exercise = ex.claim_the_task
    hint = Exercise("x", "", "", ("a", "b"), "", "", exercise.judge).hint()._repr_html_()
    assert hint == "<details><summary>Hint 1 of 2</summary><p>a</p><p>Run the cell again for the next one.</p></details>"
    html = exercise.solution()._repr_html_()
    assert html.startswith("<details><summary>Show a solution</summary><pre><code>async def claim(me):")
    assert repr(exercise.solution()).startswith("async def claim(me):")


def test_showing_an_exercise_asks_its_question() -> None:
    assert ex.claim_the_task._repr_markdown_().startswith("**Exercise.** **Mend the claim.**")
    assert "exactly one of them" in repr(ex.claim_the_task)


def test_an_unknown_exercise_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(AttributeError, match=r"no exercise 'claim_it'; there are: .*claim_the_task"):
        _ = ex.claim_it
    assert {"claim_the_task", "not_solved_yet", "names"} <= set(dir(ex))


def test_an_answer_that_raises_is_told_where_and_the_notebook_runs_on() -> None:
    def merge(left: object, right: object) -> object:
        return left + right  # type: ignore[operator]

    line = inspect.getsourcelines(merge)[1] + 1
    feedback = ex.merge_three_replicas.check(merge)
    assert not feedback.solved
    assert f"merge raised TypeError: unsupported operand type(s) for +: 'dict' and 'dict', at line {line} of merge" in repr(
        feedback
    )


def test_an_agent_that_raises_is_shown_with_its_line() -> None:
    feedback = mended("claim_the_task", ("return True", "return you"))
    assert re.search(r"An agent did not come to its end in 200 of 200 runs.*raised NameError.*'you'", repr(feedback))


def test_an_agent_that_never_ends_is_stopped() -> None:
    loop = "while True:\n        await me.value('shared/x')\n    return True"
    feedback = mended("claim_the_task", ("return True", loop))
    assert re.search(r"An agent did not come to its end in 1 of 1 runs. The first, seed 0: \w+ never ends", repr(feedback))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda me: True, "claim must be an async function: write async def claim"),
        ("claim", "claim must be an async function"),
    ],
)
def test_what_is_no_async_function_is_refused_by_name(answer: object, told: str) -> None:
    assert told in repr(ex.claim_the_task.check(answer))


def test_a_call_where_a_function_belongs_is_refused() -> None:
    assert "check takes the function itself" in repr(ex.merge_three_replicas.check({"a": 1}))


def test_a_function_that_takes_something_else_is_shown_as_the_reader_wrote_it() -> None:
    def merge(one):  # type: ignore[no-untyped-def]
        return one

    told = repr(ex.merge_three_replicas.check(merge))
    assert "what you wrote is called with 2 things, and merge(one) does not take that." in told
    assert "return function" not in told


def test_a_check_of_too_little_says_what_it_takes() -> None:
    assert "check takes ask and digest, and got 1 thing." in repr(ex.own_keys_then_digest.check(len))


def test_a_blank_that_is_called_elsewhere_says_what_to_do() -> None:
    with pytest.raises(NotSolvedYet, match="put your code in the place"):
        ex.not_solved_yet()
