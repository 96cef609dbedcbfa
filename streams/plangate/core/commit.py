"""The commit: the one atomic change an accepted plan causes (contract section 4, commit)."""

from __future__ import annotations

from .context import Context
from .events import Span
from .sameness import fingerprint, keep_as_sent
from .state import LiveSpan, Pending, Swap
from .window import Window


def accept(ctx: Context, plan_id: str, scorer: str, evicted: list[str], swaps: list[Swap], *, confirm: bool) -> None:
    """What an acceptance sets off: open escalations end; the commit happens now, or waits for the runtime."""
    head, source = ctx.window.head, ctx.source
    for key in list(ctx.window.escalations):
        del ctx.window.escalations[key]
    if confirm:
        head.pending = Pending(plan_id, source.partition, source.offset, scorer, tuple(evicted), tuple(swaps))
    else:
        apply_commit(ctx, plan_id, evicted, swaps)


def apply_commit(
    ctx: Context, plan_id: str, evicted: list[str] | tuple[str, ...], swaps: list[Swap] | tuple[Swap, ...]
) -> None:
    """Evict, replace, and let what named a covered span name its replacement: one change of the window."""
    window = ctx.window
    for key in evicted:
        window.leave(window.spans[key], plan_id)
    for swap in swaps:
        _replace(window, swap, plan_id)
    ctx.changed("commit", [*evicted, *(c for swap in swaps for c in swap.covers)])


def _replace(window: Window, swap: Swap, plan_id: str) -> None:
    covered = sorted((window.spans[c] for c in swap.covers), key=lambda s: s.place)
    first, new = covered[0], swap.span_id
    pinned = any(span.pinned for span in covered)
    waiting = new in window.waiting
    if waiting:
        del window.waiting[new]
    binders: set[str] = set()
    for span in covered:
        binders.update(window.bound.of(span.id) if swap.in_place else ())
        window.leave(span, plan_id)
    taken = first if swap.in_place else None
    for span in covered:
        _rename(window, span.id, new, in_place=swap.in_place)
    gone = {span.id for span in covered}
    taken_edges = _taken(taken, new, gone)
    span = LiveSpan(
        new,
        first.kind if taken else "summary",
        swap.cost,
        first.priority if swap.priority is None else swap.priority,
        first.used,
        first.place,
        b"",
        False,
        pinned or waiting,
        first.open if taken else False,
        first.prefix if taken else False,
        *taken_edges,
        tuple(sorted(swap.covers)),
    )
    span.sent = _fingerprint(span)
    window.link(span)
    for binder in binders:
        _rename_required(window, binder, gone, new)


def _taken(span: LiveSpan | None, new: str, covered: set[str]) -> tuple[tuple[str, ...], ...]:
    """The edges an in-place replacement takes over: depends, verbatim, required, pairs."""
    if span is None:
        return (), (), (), ()
    lists = (span.depends, span.verbatim, span.required, span.pairs)
    return tuple(tuple(i for i in ids if i != new and i not in covered) for ids in lists)


def _rename(window: Window, old: str, new: str, *, in_place: bool) -> None:
    for r in list(window.dependents.of(old)):
        live = window.spans.get(r)
        if live is None or old not in live.depends:
            continue
        keep_as_sent(live)
        live.depends = _swapped(live.depends, old, new, r)
        live.verbatim = _swapped(live.verbatim, old, new, r)
        window.dependents.discard(old, r)
        window.dependents.add(new, r)
        window.unmet.discard(r, old)
        window.spans.touch(r)
    if not in_place:
        return
    for y in list(window.paired_by.of(old)):
        live = window.spans.get(y)
        if live is not None:
            keep_as_sent(live)
            live.pairs = _swapped(live.pairs, old, new, y)
            window.paired_by.discard(old, y)
            window.paired_by.add(new, y)
            window.spans.touch(y)


def _swapped(ids: tuple[str, ...], old: str, new: str, own: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(new if i == old else i for i in ids if i != own)) if old in ids else ids


def _rename_required(window: Window, binder: str, covered: set[str], new: str) -> None:
    """What required a covered span in place requires its replacement; the one that required may have left."""
    held = window.spans.get(binder)
    store = window.spans if held is not None else window.left
    holder = held or window.left.get(binder)
    if holder is None or binder == new:
        return
    holder.required = tuple(dict.fromkeys(new if r in covered else r for r in holder.required))
    store.touch(binder)
    window.bound.add(new, binder)
    window.dependents.add(binder, new)
    if held is None:
        window.unmet.add(new, binder)


def _fingerprint(span: LiveSpan) -> bytes:
    return fingerprint(
        Span(
            span.id, span.cost, span.kind, span.priority, span.used, list(span.depends), list(span.verbatim),
            list(span.required), list(span.pairs), span.prefix, span.open, None, list(span.derived), span.pinned,
        )
    )  # fmt: skip


def commit_order(window: Window, evicted: list[str]) -> list[str]:
    """Evicted ids, dependents before what they depend on; in a cycle by id (Tarjan's components, without recursion)."""
    going = set(evicted)
    edges: dict[str, list[str]] = {}
    for key in evicted:
        span = window.spans[key]
        if (span.depends_held or key in window.bound) and (found := going.intersection(window.needs(span))):
            edges[key] = sorted(found, reverse=True)
    if not edges:
        return evicted[::-1]
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_, order, on_stack = [], [], set()
    for root in evicted:
        if root in index:
            continue
        work = [root]
        while work:
            key = work[-1]
            if key not in index:
                index[key] = low[key] = len(index)
                open_.append(key)
                on_stack.add(key)
            rest = edges.get(key, ())
            while rest:
                d = rest.pop()
                if d not in index:
                    work.append(d)
                    break
                if d in on_stack:
                    low[key] = min(low[key], low[d])
            else:
                work.pop()
                if work:
                    low[work[-1]] = min(low[work[-1]], low[key])
                if low[key] == index[key]:
                    component = []
                    while not component or component[-1] != key:
                        component.append(open_.pop())
                        on_stack.discard(component[-1])
                    order.append(sorted(component))
    return [key for component in reversed(order) for key in component]
