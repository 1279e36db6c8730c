"""The space-time picture: what is in it, that it is the same bytes each time, and that it is never only colour."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from tests.show.histories import EXAMPLES, KEY, Maker, long, lost_update, many_keys, refused, replicas

from commonboard.history import History, Operation
from commonboard.show import Picture, PictureError, history_table, spacetime
from commonboard.show.marks import AGENT_COLOURS

SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).resolve().parents[2]


def drawn(picture: Picture) -> ET.Element:
    return ET.fromstring(picture.svg)


def texts(picture: Picture) -> list[str]:
    return ["".join(element.itertext()) for element in drawn(picture).iter(f"{SVG}text")]


def group(picture: Picture, starts: str) -> ET.Element:
    """The one row whose hover text begins so."""
    found = [g for g in drawn(picture).iter(f"{SVG}g") if (g.findtext(f"{SVG}title") or "").startswith(starts)]
    assert len(found) == 1, [g.findtext(f"{SVG}title") for g in drawn(picture).iter(f"{SVG}g")]
    return found[0]


def shapes(row: ET.Element) -> list[str]:
    """The class names of the shapes of a row, without the arrow."""
    names = [child.get("class", "") for child in row if child.tag != f"{SVG}text"]
    return [name for name in names if name not in ("", "line", "badge", "read", "made")]


# --- text ------------------------------------------------------------------------------------------------------------


def test_a_lost_update_as_text() -> None:
    assert str(spacetime(*lost_update())) == (
        "        web            docs              store shared/open_questions\n"
        " given                                   v1  [A]\n"
        " t 0    ┌ read ◀──────────────────────── v1  [A]\n"
        " t 0    │              ┌ read ◀───────── v1  [A]                        ① reads v1\n"
        " t 30   │ think 30 s   │ think 31 s\n"
        " t 30   └ write ───────────────────────▶ v2  [A, B]                     ② writes v2\n"
        " t 31                  └ write ────────▶ v3  [A, C]                     ③ overwrites v2 unseen: B is lost\n"
        "\n"
        "docs wrote over what web had added: B is lost."
    )


def test_a_refused_compare_and_set_as_text() -> None:
    assert spacetime(*refused()).text.splitlines()[3:] == [
        " t 30   └ compare-and-set ───────────────────────▶ v2  [A, B]",
        " t 31                       ├ compare-and-set ───✗ refused: v2 is there           ① refused: v2 is there",
        " t 62                       │ think 31 s",
        " t 62                       └ compare-and-set ───▶ v3  [A, B, C]                  ② writes v3",
    ]


def test_merges_between_replicas_as_text() -> None:
    lines = spacetime(*replicas()).text.splitlines()
    assert lines[1].split() == ["given", "v1", "[A]", "v1", "[A]"]
    assert lines[4].split("═")[0].rstrip() == " t 8                           ○"
    assert lines[4].endswith("▶ v3  [A, C] B lost  (kept docs's and dropped web's)")
    assert "v3  [A, C]  (kept docs's and dropped web's) ◀══" in lines[5]
    assert lines[5].endswith("② drops web’s write: B is lost")


def test_the_lanes_of_the_text_stand_below_one_another_however_wide_the_names_are() -> None:
    make = Maker()
    make.add("漢字", "write", value="x", replaced=0, made=1)
    make.add("e\u0301va", "write", value="y", saw=1, replaced=1, made=2)
    header, first, second = spacetime(make.history()).text.splitlines()
    # Two columns for each of the two characters; none for the accent.
    assert header.index("store") + 2 - 1 == first.index("v1") == second.index("v2")


# --- drawing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_drawing_is_well_formed_has_no_ids_and_holds_nothing_outside_its_size(name: str) -> None:
    picture = spacetime(*EXAMPLES[name]())
    root = drawn(picture)
    assert (root.get("width"), root.get("height")) == (str(picture.width), str(picture.height))
    assert [element for element in root.iter() if element.get("id")] == []
    for element in root.iter():
        for side, most in (("x", picture.width), ("cx", picture.width), ("y", picture.height), ("cy", picture.height)):
            assert 0 <= float(element.get(side, "1")) <= most


def test_each_kind_has_its_own_shape_and_its_own_word() -> None:
    make = Maker()
    make.add("web", "read", value="1", saw=1)
    make.add("web", "list", "shared", value=["a"])
    make.add("web", "write", value="2", saw=1, replaced=1, made=2)
    make.add("web", "append", value=["2"], replaced=2, made=3)
    make.add("web", "compare-and-set", value="3", saw=3, replaced=3, made=4)
    make.add("web", "compare-and-set", value="4", saw=3, replaced=4, ok=False)
    make.add("web", "delete", saw=4, replaced=4, made=5)
    rows = [row for row in drawn(spacetime(make.history())).iter(f"{SVG}g") if (row.findtext(f"{SVG}title") or "") != "web"]
    signs = []
    for row in rows:
        marks = [c for c in row if c.get("class") in ("open", "solid", "cut", "cross")]
        signs.append(tuple((c.tag.removeprefix(SVG), c.get("class"), re.sub(r"[\d.]", "", c.get("d", ""))) for c in marks))
    assert len(rows) == 7
    assert len(dict.fromkeys(signs)) == 7
    words = texts(spacetime(make.history()))
    for kind in ("read", "list", "write", "append", "compare-and-set", "delete", "refused: v4 is there", "deleted"):
        assert kind in words


def test_a_read_points_at_the_agent_and_a_write_at_the_store() -> None:
    picture = spacetime(*lost_update())
    read, write = group(picture, "0 s: web reads"), group(picture, "30 s: web writes")

    def tip(row: ET.Element) -> tuple[float, str]:
        head = next(c.get("d", "") for c in row if c.get("class") == "solid" and c.tag == f"{SVG}path")
        found = re.match(r"M([\d.]+) [\d.]+l(-?)", head)
        assert found is not None
        return float(found[1]), found[2]

    (read_x, read_way), (write_x, write_way) = tip(read), tip(write)
    assert read_x < write_x
    assert (read_way, write_way) == ("", "-")  # the head's back lies right of a tip that points left, and the other way


def test_the_guilty_path_is_numbered_thick_and_worded_and_the_rest_is_dimmed() -> None:
    picture = spacetime(*lost_update())
    for number, starts in enumerate(("0 s: docs reads", "30 s: web writes", "31 s: docs writes"), 1):
        row = group(picture, starts)
        assert row.get("class") == "hi"
        inside = ["".join(element.itertext()) for element in row.iter(f"{SVG}text")]
        assert inside.count(str(number)) == 2
    assert ".hi .line{stroke-width:3}" in picture.svg
    assert group(picture, "0 s: web reads").get("class") == "c0 dim"
    assert {"reads v1", "writes v2", "overwrites v2 unseen: B is lost"} <= dict.fromkeys(texts(picture)).keys()


def test_nothing_is_dimmed_without_a_guilty_path() -> None:
    history, _, caption = lost_update()
    assert 'dim"' not in spacetime(history, (), caption).svg


def test_the_loss_is_told_without_a_guilty_path_too() -> None:
    assert "[A, C] B lost" in texts(spacetime(lost_update()[0]))


def test_what_a_writer_had_seen_and_took_out_is_not_called_lost() -> None:
    make = Maker()
    make.add("given", "write", value=["A"], replaced=0, made=1)
    make.add("web", "read", value=["A"], saw=1)
    make.add("web", "write", value=[], saw=1, replaced=1, made=2)
    assert "lost" not in str(spacetime(make.history()))


def test_a_blind_write_is_called_blind_and_loses_nothing_by_name() -> None:
    make = Maker()
    make.add("web", "write", value=["B"], replaced=0, made=1)
    over = make.add("docs", "write", value=["C"], replaced=1, made=2)
    assert str(spacetime(make.history(), [over], "x")).splitlines()[2].endswith("① overwrites v1 without looking")


def test_what_is_new_in_a_value_is_emphasised() -> None:
    row = group(spacetime(*lost_update()), "30 s: web writes")
    assert [e.text for e in row.iter(f"{SVG}tspan") if e.get("class") == "a"] == ["B"]


def test_long_values_are_cut_with_their_length_and_whole_in_the_hover_text() -> None:
    make = Maker()
    make.add("web", "write", value="word " * 60, replaced=0, made=1)
    picture = spacetime(make.history())
    (shown,) = [text for text in texts(picture) if text.startswith("word")]
    assert shown.endswith("… 300 characters")
    assert len(shown) < 60
    assert "word " * 60 in (group(picture, "0 s: web writes").findtext(f"{SVG}title") or "")


def test_values_and_names_are_escaped_everywhere() -> None:
    make = Maker()
    nasty = '<script>alert("&")</script>'
    make.add(nasty.replace("/", "|"), "write", f"shared/{nasty}", nasty, replaced=0, made=1)
    picture = spacetime(make.history(), make.operations, nasty)
    root = drawn(picture)
    assert "".join(root.itertext()).count(nasty) >= 3
    assert "<script" not in picture.svg + picture._repr_html_()


def test_characters_that_xml_forbids_or_that_turn_text_are_shown_by_a_sign() -> None:
    picture = spacetime(*many_keys())
    (odd,) = [text for text in texts(picture) if text.startswith("bell")]
    assert odd == "bell␇ �turned␀"
    assert "\u202e" not in picture.svg + str(picture) + picture.alt


def test_thoughts_that_begin_together_share_a_row_and_are_bars_in_their_lanes() -> None:
    history, _, _ = lost_update()
    picture = spacetime(history)
    bars = [e for e in drawn(picture).iter(f"{SVG}rect") if (e.get("class") or "").startswith("bar")]
    web, docs = ((float(e.get("y", "")), float(e.get("height", ""))) for e in bars)
    assert sum("think" in line for line in picture.text.splitlines()) == 1
    # web's thought began first; docs's ended later, and passes the row in which web writes.
    assert web[0] < docs[0]
    assert web[0] + web[1] < docs[0] + docs[1]


def test_a_merge_joins_two_replicas_and_names_what_it_dropped() -> None:
    picture = spacetime(*replicas())
    row = group(picture, "9 s: replica-1 merges")
    assert [e.get("class") for e in row.iter(f"{SVG}circle") if e.get("class") != "badge"] == ["open", "solid"]
    assert "merge: kept docs's and dropped web's" in ["".join(e.itertext()) for e in row.iter(f"{SVG}text")]
    assert "drops web’s write: B is lost" in texts(picture)


def test_an_empty_history_is_a_picture_that_says_so() -> None:
    picture = spacetime(History([]))
    assert "Nothing happened." in texts(picture)
    assert picture.caption == "No operations."
    assert picture.alt == "No operations."


def test_a_value_that_cannot_be_decoded_is_drawn_as_the_text_that_is_there() -> None:
    operation = Operation(0, "web", "write", KEY, "{not json", "json", made=1)
    assert '"{not json"' in texts(spacetime(History([operation])))


# --- what is left out ------------------------------------------------------------------------------------------------


def test_a_long_history_leaves_out_what_is_far_from_the_guilty_path_and_says_how_much() -> None:
    history, highlight, caption = long(300)
    picture = spacetime(history, highlight, caption)
    lines = picture.text.splitlines()[1:]
    gaps = [int(found[1]) for line in lines if (found := re.search(r"… (\d+) other operations", line))]
    assert len(lines) <= 60 + len(gaps)
    assert sum(gaps) + len(lines) - len(gaps) == 300
    for place in (100, 150):
        for neighbour in (place - 2, place - 1, place, place + 1, place + 2):
            assert any(line.startswith(f" t {neighbour} ") for line in lines)


def test_highlighted_operations_stay_however_many_there_are() -> None:
    history, _, caption = long(300)
    chosen = history[0:300:3]
    picture = spacetime(history, chosen, caption, limit=20)
    assert [line for line in picture.text.splitlines() if line.endswith(")") or "reads" in line or "writes" in line]
    for operation in chosen:
        assert f"t = {operation.ended_at:g} s:" in picture.alt


def test_without_a_limit_everything_is_drawn() -> None:
    picture = spacetime(*long(300), limit=None)
    assert len(picture.text.splitlines()) == 301
    assert "other operations" not in picture.text


def test_a_gap_is_never_a_single_row() -> None:
    history, _, caption = long(9)
    picture = spacetime(history, [history[0], history[4]], caption, limit=2)
    assert "… 1 other" not in picture.alt


def test_an_operation_of_another_history_cannot_be_highlighted() -> None:
    stranger = Operation(99, "nobody", "read", "elsewhere")
    with pytest.raises(PictureError, match="nobody reads elsewhere"):
        spacetime(lost_update()[0], [stranger])


def test_an_equal_copy_of_an_operation_can_be_highlighted() -> None:
    (_, highlight, caption), (history, _, _) = lost_update(), lost_update()
    assert spacetime(history, highlight, caption).svg == spacetime(*lost_update()).svg


# --- the picture as an object ----------------------------------------------------------------------------------------


def test_the_alternative_text_begins_with_the_caption_and_goes_on_with_the_steps() -> None:
    assert spacetime(*lost_update()).alt.splitlines() == [
        "docs wrote over what web had added: B is lost.",
        "shared/open_questions was there from the start, as version 1: [A].",
        "t = 0 s: web reads shared/open_questions at version 1: [A].",
        "(1) t = 0 s: docs reads shared/open_questions at version 1: [A].",
        "t = 0 s: web thinks for 30 s (800 tokens).",
        "t = 0 s: docs thinks for 31 s (800 tokens).",
        "(2) t = 30 s: web writes shared/open_questions as version 2: [A, B].",
        "(3) t = 31 s: docs writes shared/open_questions as version 3: [A, C]. "
        "It replaces version 2, which docs had not seen. B is lost.",
    ]


def test_a_notebook_keeps_an_image_with_its_alternative_text_and_no_svg_element() -> None:
    picture = spacetime(*lost_update())
    bundle = picture._repr_mimebundle_()
    assert sorted(bundle) == ["text/html", "text/plain"]
    assert bundle["text/plain"] == str(picture)
    html = bundle["text/html"]
    assert "<svg" not in html
    assert f"<figcaption>{picture.caption}</figcaption>" in html
    image = ET.fromstring(re.sub(r"(<img [^>]*)>", r"\1/>", html)).find("img")
    assert image is not None
    assert image.get("width") == str(picture.width)
    # An XML parser turns the line breaks of an attribute into spaces.
    assert image.get("alt") == picture.alt.replace("\n", " ")
    head, _, data = image.get("src", "").partition(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(data).decode() == picture.svg


def test_a_caption_is_one_line_and_a_picture_without_one_counts() -> None:
    history, _, _ = lost_update()
    assert spacetime(history, (), "two\n lines").caption == "two lines"
    assert spacetime(history).caption == "4 operations by web, docs."


def test_no_representation_holds_an_address() -> None:
    picture = spacetime(*many_keys())
    for text in (repr(picture), str(picture), picture.svg, picture.alt):
        assert not re.search(r"0x[0-9a-f]{4,}", text)
    assert repr(spacetime(*lost_update())) == "Picture('docs wrote over what web had added: B is lost.', 808 x 310)"


def test_saving_writes_the_svg_alone_or_a_page_that_needs_nothing_else(tmp_path: Path) -> None:
    picture = spacetime(*lost_update())
    assert picture.save(tmp_path / "a.svg").read_text("utf-8") == picture.svg
    page = picture.save(tmp_path / "a.html").read_text("utf-8")
    assert picture.svg in page
    assert picture.caption in page.partition("</svg>")[2]
    assert not re.search(r"(src|href)=", page)
    with pytest.raises(PictureError, match=r"'a\.png'"):
        picture.save(tmp_path / "a.png")


PROBE = """
import hashlib
from commonboard.show import spacetime
from tests.show.histories import EXAMPLES
for make in EXAMPLES.values():
    picture = spacetime(*make())
    print(hashlib.sha256((picture.svg + picture.alt + str(picture) + picture._repr_html_()).encode()).hexdigest())
"""


def test_the_same_history_gives_the_same_bytes_in_every_process() -> None:
    def run(seed: str) -> list[str]:
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "toolkit")])}
        done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, env=env, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    here = []
    for make in EXAMPLES.values():
        picture = spacetime(*make())
        here.append(hashlib.sha256((picture.svg + picture.alt + str(picture) + picture._repr_html_()).encode()).hexdigest())
    assert run("1") == run("2") == here


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_lanes_can_be_told_from_the_card_in_light_and_in_dark() -> None:
    # 3:1 is what WCAG 2.1 asks of graphical objects.
    for light, dark in AGENT_COLOURS:
        assert contrast(light, "#ffffff") >= 3
        assert contrast(dark, "#14191f") >= 3


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"history": [1]}, "of a history, such as run.history, not of a list"),
        ({"history": None}, "not of None"),
        ({"highlight": 3}, "highlight= takes a list of operations of the history, not an int"),
        ({"highlight": lost_update()[0][0]}, "not an Operation"),
        ({"caption": 3}, "caption= takes a sentence, not an int"),
        ({"limit": "all"}, "limit= takes a number of rows, 0 or more, or None, not 'all'"),
        ({"now": -1}, "now= takes a number of rows"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(PictureError, match=re.escape(told)):
        spacetime(**{"history": lost_update()[0], **wrong})


def test_a_table_of_what_is_no_history_is_refused_in_a_sentence() -> None:
    with pytest.raises(PictureError, match=r"such as run\.history, not a list"):
        history_table([1])  # type: ignore[arg-type]
