"""Stores that lie, each in one way. Every check of the conformance suite must find at least one of them, by name."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import json
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.helpers import FiveMethods, WithBoth, WithCompareAndSet, WithExpiry

from commonboard import ANY, ConflictError, InMemoryStore, Log, MemoryEntry, Page, Reading, Write
from commonboard.entry import KeyUnchanged, PrefixUnchanged
from commonboard.rule import Board
from commonboard.values import check_metadata

MUTANTS: list[tuple[str, type[Any]]] = []
"""The check that must find it, and the store."""


def found_by(*checks: str) -> Any:
    def add(cls: type[Any]) -> type[Any]:
        MUTANTS.extend((check, cls) for check in checks)
        return cls

    return add


# --- the five methods ---


@found_by("a_missing_key_reads_as_none")
class RaisesOnAMiss(FiveMethods):
    async def get(self, key):
        return deepcopy(self.entries[key])


@found_by("what_is_set_reads_back")
class StripsText(FiveMethods):
    async def set(self, key, value, metadata=None):
        self._put(key, value.strip(), metadata)


@found_by("what_is_set_reads_back")
class ParsesWhatLooksLikeJson(FiveMethods):
    async def set(self, key, value, metadata=None):
        with contextlib.suppress(ValueError):
            value = json.dumps(json.loads(value), separators=(",", ":"))
        self._put(key, value, metadata)


@found_by("metadata_read_back")
class KeepsMetadataAsText(FiveMethods):
    async def set(self, key, value, metadata=None):
        self._put(key, value, {name: str(fact) for name, fact in (metadata or {}).items()})


@found_by("set_replaces_the_metadata", "delete_then_set_is_a_new_creation")
class MergesMetadata(FiveMethods):
    seen: dict[str, Any]

    async def set(self, key, value, metadata=None):
        self.seen = getattr(self, "seen", {}) | dict(metadata or {})
        self._put(key, value, self.seen)


@found_by("keys_are_opaque")
class IgnoresCase(FiveMethods):
    async def set(self, key, value, metadata=None):
        self._put(key.lower(), value, metadata)

    async def get(self, key):
        return deepcopy(self.entries.get(key.lower()))


@found_by("keys_are_opaque")
class TakesKeysForPatterns(FiveMethods):
    async def delete(self, key):
        for other in fnmatch.filter(list(self.entries), key):
            del self.entries[other]


@found_by("the_list_gives_the_first_created_first")
class ListsTheNewestLast(FiveMethods):
    async def set(self, key, value, metadata=None):
        old = self.entries.pop(key, None)
        self._put(key, value, metadata)
        if old is not None:
            self.entries[key].created_at = old.created_at


@found_by("overwriting_keeps_created_at")
class ForgetsWhenItWasCreated(FiveMethods):
    async def set(self, key, value, metadata=None):
        self._put(key, value, metadata)
        self.entries[key].created_at = datetime.now(UTC)


@found_by("delete_then_set_is_a_new_creation")
class RemembersTheDead(FiveMethods):
    def __init__(self):
        super().__init__()
        self.born = {}

    async def set(self, key, value, metadata=None):
        self._put(key, value, metadata)
        self.entries[key].created_at = self.born.setdefault(key, self.entries[key].created_at)


@found_by("deleting_what_is_not_there_does_nothing", "reads_change_nothing")
class RaisesOnDeletingNothing(FiveMethods):
    async def delete(self, key):
        del self.entries[key]


@found_by("deleting_what_is_not_there_does_nothing", "a_delete_takes_one_key_and_none_beneath_it")
class DeletesByPrefix(FiveMethods):
    async def delete(self, key):
        for other in [other for other in self.entries if other.startswith(key)]:
            del self.entries[other]


@found_by("clear_removes_everything_and_the_store_goes_on")
class ClearsNothing(FiveMethods):
    async def clear(self):
        pass


@found_by("what_was_given_can_be_changed_afterwards")
class KeepsWhatItIsGiven(FiveMethods):
    def _put(self, key, value, metadata, expires_at_turn=None):
        super()._put(key, value, None, expires_at_turn)
        self.entries[key].metadata = dict(metadata or {})


@found_by("what_came_back_can_be_changed_without_changing_the_store")
class HandsOutWhatItKeeps(FiveMethods):
    async def get(self, key):
        return self.entries.get(key)


@found_by("reads_change_nothing")
class ReadsCreate(FiveMethods):
    async def delete(self, key):
        self.entries.pop(key, None)
        await self.get(key)

    async def get(self, key):
        if key.startswith("nothing/"):
            self._put(key, "", None)
        return await super().get(key)


@found_by("sets_at_the_same_time_all_survive")
class WritesBackAnOldCopy(FiveMethods):
    async def set(self, key, value, metadata=None):
        before = dict(self.entries)
        await asyncio.sleep(0)
        self.entries = before
        self._put(key, value, metadata)


@found_by("sets_of_one_key_at_the_same_time_leave_one_of_them_whole")
class WritesInTwoSteps(FiveMethods):
    async def set(self, key, value, metadata=None):
        if key not in self.entries:
            self._put(key, value, metadata)
        self.entries[key].value = value
        await asyncio.sleep(0)
        if value != "24":
            self._put(key, self.entries[key].value, metadata)


@found_by("a_cancelled_set_happened_or_not_and_the_store_goes_on")
class NeverRecoversFromACancel(FiveMethods):
    busy = False

    async def set(self, key, value, metadata=None):
        if self.busy:
            raise RuntimeError("still busy")
        self.busy = True
        await asyncio.sleep(0)
        self._put(key, value, metadata)
        self.busy = False


@found_by("what_is_set_reads_back")
class Hangs(FiveMethods):
    async def set(self, key, value, metadata=None):
        await asyncio.Event().wait()


# --- compare_and_set and set_with_expiry ---


@found_by("compare_and_set_creates_only_what_is_absent")
class NoneExpectsAnything(WithCompareAndSet):
    async def compare_and_set(self, key, expected, value, metadata=None):
        if expected is None:
            self._put(key, value, metadata)
            return True
        return await super().compare_and_set(key, expected, value, metadata)


@found_by("compare_and_set_swaps_only_the_exact_text")
class ComparesLoosely(WithCompareAndSet):
    async def compare_and_set(self, key, expected, value, metadata=None):
        found = self.entries.get(key)
        if found is not None and expected is not None and found.value == expected.strip():
            expected = found.value
        return await super().compare_and_set(key, expected, value, metadata)


@found_by("compare_and_set_swaps_only_the_exact_text")
class AlwaysSaysYes(WithCompareAndSet):
    async def compare_and_set(self, key, expected, value, metadata=None):
        await super().compare_and_set(key, expected, value, metadata)
        return True


@found_by("compare_and_set_keeps_the_place_and_replaces_the_metadata")
class SwapsByDeleting(WithCompareAndSet):
    async def compare_and_set(self, key, expected, value, metadata=None):
        done = await super().compare_and_set(key, expected, value, metadata)
        if done:
            self.entries[key] = self.entries.pop(key)
        return done


@found_by("compare_and_set_cannot_see_that_a_text_changed_and_changed_back")
class RefusesATextThatCameBack(WithCompareAndSet):
    def __init__(self):
        super().__init__()
        self.texts = {}

    async def set(self, key, value, metadata=None):
        self.texts.setdefault(key, []).append(value)
        await super().set(key, value, metadata)

    async def compare_and_set(self, key, expected, value, metadata=None):
        if self.texts.get(key, []).count(expected) > 1:
            return False
        return await super().compare_and_set(key, expected, value, metadata)


@found_by("of_many_who_compare_and_set_at_once_exactly_one_wins", "increments_by_compare_and_set_all_count")
class LooksAndThenSets(WithCompareAndSet):
    async def compare_and_set(self, key, expected, value, metadata=None):
        found = await self.get(key)
        await asyncio.sleep(0)
        if (None if found is None else found.value) != expected:
            return False
        await self.set(key, value, metadata)
        return True


@found_by("the_turn_of_expiry_is_kept_and_the_store_hides_nothing")
class HidesWhatExpires(WithExpiry):
    async def list(self):
        return [entry for entry in await super().list() if entry.expires_at_turn is None]


@found_by("the_turn_of_expiry_is_kept_and_the_store_hides_nothing")
class DropsTheTurn(WithExpiry):
    async def set_with_expiry(self, key, value, turn, metadata=None):
        self._put(key, value, metadata)


@found_by("set_clears_an_earlier_expiry")
class KeepsAnOldExpiry(WithBoth):
    async def set(self, key, value, metadata=None):
        old = self.entries.get(key)
        self._put(key, value, metadata, old.expires_at_turn if old else None)


@found_by("compare_and_set_clears_an_earlier_expiry")
class SwapsAndKeepsAnOldExpiry(WithBoth):
    async def compare_and_set(self, key, expected, value, metadata=None):
        old = self.entries.get(key)
        done = await super().compare_and_set(key, expected, value, metadata)
        if done and old is not None:
            self.entries[key].expires_at_turn = old.expires_at_turn
        return done


@found_by("set_with_expiry_keeps_the_place")
class ExpiresInANewPlace(WithExpiry):
    async def set_with_expiry(self, key, value, turn, metadata=None):
        self.entries.pop(key, None)
        self._put(key, value, metadata, turn)


# --- what the built-in stores offer: versions, commits, refusals ---


class FaultyBoard(InMemoryStore):
    """An `InMemoryStore` over a board of another class."""

    board: type[Board] = Board

    def __init__(self):
        super().__init__()
        self._board = self.board({}, {}, {}, [])


@found_by("a_version_only_grows_across_writes_deletes_clears_and_restores")
class CountsAnewAfterADelete(InMemoryStore):
    def _make_so(self, changes, forget=False):
        super()._make_so(changes, forget)
        self._board.gone.clear()


@found_by("a_version_only_grows_across_writes_deletes_clears_and_restores")
class ASetOfTheSameTextIsNoWrite(InMemoryStore):
    async def set(self, key, value, metadata=None):
        entry = await self.get(key)
        if entry is None or entry.value != value:
            await super().set(key, value, metadata)


@found_by("the_entry_the_event_and_look_agree_on_the_version")
class LooksAtAnOlderVersion(InMemoryStore):
    async def look(self, key):
        reading = await super().look(key)
        return Reading(reading.entry, reading.version - 1)


@found_by("clear_raises_the_floor_for_keys_that_were_deleted_before")
class ClearsWithoutAFloor(InMemoryStore):
    async def clear(self):
        await super().clear()
        self._board.floor = 2


@found_by("a_commit_is_all_or_nothing")
class CommitsOneByOne(InMemoryStore):
    async def commit(self, *writes, reads=()):
        await super().commit(reads=reads)
        return [event for write in writes for event in await super(CommitsOneByOne, self).commit(write)]


class _NoLookAhead(Board):
    def plan(self, writes, reads, now):
        made = [change for write in writes for change in super(_NoLookAhead, self).plan((write,), (), now)]
        super().plan((), reads, now)
        return [(key, entry, event._replace(seq=self.seq + n)) for n, (key, entry, event) in enumerate(made, 1)]


@found_by("writes_of_one_commit_see_those_before_them")
class WritesOfOneCommitAreBlindToEachOther(FaultyBoard):
    board = _NoLookAhead


@found_by("each_kind_of_expectation_holds_or_refuses", "of_many_who_expect_one_version_exactly_one_wins")
class ExpectsNothing(InMemoryStore):
    async def commit(self, *writes, reads=()):
        return await super().commit(*(replace(write, expect=ANY) for write in writes), reads=reads)


@found_by("each_kind_of_expectation_holds_or_refuses")
class TakesAnyOlderVersion(InMemoryStore):
    async def commit(self, *writes, reads=()):
        now = [(await self.look(write.key)).version for write in writes]
        loose = [
            replace(write, expect=version) if type(write.expect) is int and write.expect < version else write
            for write, version in zip(writes, now, strict=True)
        ]
        return await super().commit(*loose, reads=reads)


@found_by("a_text_is_expected_exactly")
class ExpectsTextLoosely(InMemoryStore):
    async def commit(self, *writes, reads=()):
        strip = [replace(w, expect=w.expect.strip()) if isinstance(w.expect, str) else w for w in writes]
        return await super().commit(*strip, reads=reads)


@found_by("a_version_notices_that_a_text_changed_and_changed_back")
class TakesEqualTextsForOneVersion(InMemoryStore):
    async def commit(self, *writes, reads=()):
        loose = []
        for write in writes:
            texts = {e.version: e.value for e in await self.events(key=write.key)}
            reading = await self.look(write.key)
            if reading.entry and type(write.expect) is int and texts.get(write.expect) == reading.entry.value:
                write = replace(write, expect=reading.version)
            loose.append(write)
        return await super().commit(*loose, reads=reads)


@found_by("a_refusal_says_what_is_there")
class RefusesWithoutAWord(InMemoryStore):
    async def commit(self, *writes, reads=()):
        try:
            return await super().commit(*writes, reads=reads)
        except ConflictError:
            raise ConflictError("no") from None


@found_by("a_refusal_says_what_is_there")
class RefusesWithALiveEntry(InMemoryStore):
    async def commit(self, *writes, reads=()):
        try:
            return await super().commit(*writes, reads=reads)
        except ConflictError as error:
            error.found = self._board.entries.get(error.key)
            raise


@found_by("reads_of_versions_must_not_have_changed", "reads_of_prefixes_must_not_have_changed")
class IgnoresReads(InMemoryStore):
    async def commit(self, *writes, reads=()):
        return await super().commit(*writes)


@found_by("reads_of_prefixes_must_not_have_changed")
class WatchesPrefixesByTheLetter(InMemoryStore):
    async def commit(self, *writes, reads=()):
        for read in reads:
            if isinstance(read, PrefixUnchanged):
                late = [e for e in await self.events(read.after) if e.key.startswith(read.prefix)]
                if late:
                    raise ConflictError("changed")
        return await super().commit(*writes, reads=[read for read in reads if isinstance(read, KeyUnchanged)])


@found_by("of_many_who_expect_one_version_exactly_one_wins", "transfers_between_two_keys_lose_nothing")
class ChecksAndThenWrites(InMemoryStore):
    async def commit(self, *writes, reads=()):
        self._board.plan(writes, reads, self._clock())
        await asyncio.sleep(0)
        return await super().commit(*(replace(write, expect=ANY) for write in writes))


@found_by("appends_at_the_same_time_all_survive")
class AppendsInTwoSteps(InMemoryStore):
    async def commit(self, *writes, reads=()):
        (write, *_) = writes or (Write("a", None),)
        if not write.append:
            return await super().commit(*writes, reads=reads)
        entry = await self.get(write.key)
        await asyncio.sleep(0)
        items = [*json.loads(entry.value if entry else "[]"), json.loads(write.value)]
        return await super().commit(replace(write, value=json.dumps(items), append=False))


@found_by("an_append_adds_one_item_to_the_list_that_is_there")
class AppendsToAnything(InMemoryStore):
    async def commit(self, *writes, reads=()):
        for write in writes:
            entry = await self.get(write.key)
            if write.append and entry is not None and not entry.value.strip().startswith("["):
                return await super().commit(Write(write.key, f"[{write.value}]"))
        return await super().commit(*writes, reads=reads)


@found_by("a_restore_keeps_created_at_and_goes_last")
class RestoresInPlace(InMemoryStore):
    async def commit(self, *writes, reads=()):
        return await super().commit(*(replace(w, operation="import" if w.operation else None) for w in writes), reads=reads)


@found_by("an_import_keeps_created_at_and_its_place", "a_restore_keeps_created_at_and_goes_last")
class ForgetsTheCreationOfImports(InMemoryStore):
    async def commit(self, *writes, reads=()):
        return await super().commit(*(replace(write, created_at=None) for write in writes), reads=reads)


@found_by("what_look_gave_can_be_changed_without_changing_the_store")
class LooksAtTheLiveEntry(InMemoryStore):
    async def look(self, key):
        reading = await super().look(key)
        return Reading(self._board.entries.get(key), reading.version)


@found_by("a_bad_key_is_refused_by_every_method")
class DeletesBadKeys(InMemoryStore):
    async def delete(self, key):
        if isinstance(key, str) and key:
            await super().delete(key)


@found_by("a_bad_key_is_refused_by_every_method")
class RefusesBadKeysTooLate(InMemoryStore):
    async def set(self, key, value, metadata=None):
        await super().set(key or "a", value, metadata)
        await self.get(key)


@found_by("a_bad_field_of_a_write_is_refused")
class TakesTheMetadataAsTheyAre(InMemoryStore):
    async def commit(self, *writes, reads=()):
        soft = [replace(w, metadata={"n": None}) if isinstance(w, Write) and w.metadata else w for w in writes]
        return await super().commit(*soft, reads=reads)


@found_by("an_event_is_given_for_each_change", "the_entry_the_event_and_look_agree_on_the_version")
class CommitsWithoutAWord(InMemoryStore):
    async def commit(self, *writes, reads=()):
        await super().commit(*writes, reads=reads)
        return []


@found_by("an_event_is_given_for_each_change")
class ForgetsTheReason(InMemoryStore):
    async def commit(self, *writes, reads=()):
        mute = [replace(w, reason=None) if isinstance(w, Write) else w for w in writes]
        return await super().commit(*mute, reads=reads)


# --- what the built-in stores offer to those who follow ---


class _LogsDeletesOfNothing(Board):
    def plan(self, writes, reads, now):
        made = super().plan(writes, reads, now)
        if not made and writes and self.log:
            self.log.append(self.log[-1])
        return made


@found_by("each_change_leaves_one_event_and_nothing_else_does")
class LogsWhatDidNotHappen(FaultyBoard):
    board = _LogsDeletesOfNothing


@found_by("clear_leaves_an_event_for_each_entry")
class ClearsSilently(InMemoryStore):
    async def clear(self):
        before = list(self._board.log)
        await super().clear()
        self._board.log[:] = before


@found_by("an_event_says_when_and_since_when")
class EventsForgetTheCreation(InMemoryStore):
    async def events(self, after=0, *, key=None, actor=None):
        return Log(e._replace(created_at=e.at) for e in await super().events(after, key=key, actor=actor))


@found_by("the_log_can_be_asked_from_a_position_by_key_and_by_actor")
class TakesTheKeyForAPrefix(InMemoryStore):
    async def events(self, after=0, *, key=None, actor=None):
        found = await super().events(after, actor=actor)
        return Log(e for e in found if key is None or e.key.startswith(key))


@found_by("the_log_can_be_asked_from_a_position_by_key_and_by_actor")
class GivesTheLastEventAgain(InMemoryStore):
    async def events(self, after=0, *, key=None, actor=None):
        return await super().events(max(after - 1, 0), key=key, actor=actor)


@found_by("a_log_that_is_changed_does_not_change_the_store")
class HandsOutItsLog(InMemoryStore):
    async def events(self, after=0, *, key=None, actor=None):
        return self._board.log


@found_by("the_position_of_a_list_is_where_its_news_begin")
class ListsWithoutAPosition(InMemoryStore):
    async def list(self, prefix="", limit=None, after=None):
        page = await super().list(prefix, limit, after)
        page.position = 0
        return page


@found_by("watch_gives_what_happened_and_then_what_happens")
class WatchesOnlyTheFuture(InMemoryStore):
    async def watch(self, after=0):
        async for event in super().watch(max(after, self._board.seq)):
            yield event


@found_by("watch_gives_what_happened_and_then_what_happens")
class WatchesOnlyThePast(InMemoryStore):
    async def watch(self, after=0):
        for event in await self.events(after):
            yield event


@found_by("a_follower_who_goes_away_disturbs_nobody")
class OneFollowerTakesTheOthersAlong(InMemoryStore):
    async def watch(self, after=0):
        watching = super().watch(after)
        try:
            async for event in watching:
                yield event
        except BaseException:
            self._followers.clear()
            self._make_so = self._forbid
            raise

    def _forbid(self, changes, forget=False):
        raise RuntimeError("the log is closed")


@found_by("a_prefix_is_whole_segments")
class ListsByTheLetter(InMemoryStore):
    async def list(self, prefix="", limit=None, after=None):
        page = await super().list("", limit, after)
        return _page([entry for entry in page if entry.key.startswith(prefix)], page)


@found_by("the_empty_prefix_is_everything")
class ListsNothingUnderNothing(InMemoryStore):
    async def list(self, *prefix, limit=None, after=None):
        page = await super().list(*prefix, limit=limit, after=after)
        return _page([], page) if prefix == ("",) else page


@found_by("no_character_of_a_prefix_is_special")
class ListsByPattern(InMemoryStore):
    async def list(self, prefix="", limit=None, after=None):
        page = await super().list("", limit, after)
        pattern = f"{prefix.rstrip('/')}/*"
        return _page([e for e in page if not prefix or e.key == prefix or fnmatch.fnmatchcase(e.key, pattern)], page)


@found_by("pages_give_every_entry_once_and_in_order")
class RepeatsTheLastOfEachPage(InMemoryStore):
    async def list(self, prefix="", limit=None, after=None):
        if limit is None or after is None:
            return await super().list(prefix, limit, after)
        return await super().list(prefix, limit + 1, after)


@found_by("pages_bear_that_the_board_changes_between_them")
class PagesByNumber(InMemoryStore):
    async def list(self, prefix="", limit=None, after=None):
        everything = await super().list(prefix)
        if limit is None and after is None:
            return everything
        start = int(after or 0)
        stop = len(everything) if limit is None else start + limit
        cursor = str(stop) if stop < len(everything) else None
        return _page(everything[start:stop], everything, cursor)


@found_by("a_limit_of_zero_is_empty_and_a_wrong_one_is_refused")
class TakesZeroForNoLimit(InMemoryStore):
    async def list(self, prefix="", limit=None, after=None):
        return await super().list(prefix, limit or None, after)


@found_by("a_limit_of_zero_is_empty_and_a_wrong_one_is_refused")
class TakesANegativeLimit(InMemoryStore):
    async def list(self, prefix="", limit=None, after=None):
        return await super().list(prefix, max(limit, 0) if isinstance(limit, int) else limit, after)


@found_by("a_list_tells_the_absences_under_its_prefix")
class ListsWithoutAbsences(InMemoryStore):
    async def list(self, prefix="", limit=None, after=None):
        page = await super().list(prefix, limit, after)
        page.gone.clear()
        return page


@found_by("what_was_given_can_be_changed_afterwards")
class CopiesOneLevel(InMemoryStore):
    async def set(self, key, value, metadata=None):
        await super().set(key, value, metadata)
        if metadata:
            check_metadata(metadata)
            self._board.entries[key].metadata = dict(metadata)


@found_by("a_missing_key_reads_as_none")
class IsNotAsync:
    def get(self, key):
        return None


def _page(entries: list[MemoryEntry], page: Page, cursor: str | None = None) -> Page:
    return Page(entries, cursor=cursor, position=page.position, floor=page.floor, gone=page.gone)
