"""What a server tells about itself: a record for programs, and a page for people that shows the same."""

from __future__ import annotations

from typing import Any

from quiesce.server.hub import Hub
from quiesce.server.session import ServerSession
from quiesce.server.space import Space


def stats(hub: Hub) -> dict[str, Any]:
    """The state of the server as JSON. Reading it changes nothing. ``docs/store.md`` tells what each field
    means.
    """
    now = hub.surroundings.clock()
    tally = hub.surroundings.tally
    return {
        "connections": len(hub.connections),
        "sessions": sum(len(space.sessions) for space in hub.spaces.values()),
        "verdicts": dict(tally.verdicts),
        "replays": tally.replays,
        "batches": tally.batches,
        "windows": tally.windows,
        "received": {"messages": tally.received, "bytes": tally.received_bytes},
        "problems": dict(tally.problems),
        "log": hub.counts.counts_breakdown(),
        "spaces": {name: _space(space, now) for name, space in sorted(hub.spaces.items())},
    }


def _space(space: Space, now: float) -> dict[str, Any]:
    sessions = sorted(space.sessions.values(), key=lambda session: session.id)
    return {
        "sequence": space.seq,
        "queue": space.queued,
        "storageFailures": space.failures,
        "sessions": {session.id: _session(session) for session in sessions},
        "commitRates": {session.id: round(session.rate.per_second(now), 3) for session in sessions},
        "surfaces": {"declared": space.certificates[0], "exceeded": space.certificates[1]},
        "serving": _serving(space),
        "sessionReports": [report for session in sessions for report in _reports(session)],
    }


def _serving(space: Space) -> dict[str, Any] | None:
    lease = space.serving.lease
    if lease is None:
        return None
    return {
        "holder": lease.holder,
        "session": lease.session.id,
        "actions": len(lease.actions),
        "seats": len(lease.seats),
        "demanding": len(space.serving.demands),
        "waiting": space.serving.waiting,
        "resting": lease.resting is not None,
    }


def _acts_for(session: ServerSession) -> str | None:
    """The scope instance that a seat acts for; None for everybody else."""
    return session.actor.identity.narrowest if session.actor.holder else None


def _session(session: ServerSession) -> dict[str, Any]:
    connection = session.connection
    return {
        "principal": session.actor.own.principal,
        "actsFor": _acts_for(session),
        "attached": connection is not None,
        "watches": len(session.watches),
        "tracked": len(session.tracked),
        "syncedTo": session.synced,
        "decided": session.decided,
        "inFlight": session.in_flight,
        "outcomes": dict(session.outcomes),
        "unsent": {"messages": connection.queued, "bytes": connection.outbox_bytes} if connection else None,
        "behind": len(session.behind) if session.behind is not None else None,
    }


def _reports(session: ServerSession) -> list[dict[str, Any]]:
    return [
        {
            "session": session.id,
            "principal": session.actor.identity.principal,
            "actsFor": _acts_for(session),
            "event": filed.report.event,
            "action": filed.report.action,
            "document": filed.report.document.id,
            "instance": filed.instance,
            "reason": filed.report.reason,
            "renewals": filed.report.renewals,
            "heldMs": filed.report.held_ms,
            "at": filed.at_ms,
        }
        for filed in session.reports
    ]


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>quiesce</title>
<style>
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
  body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; }
  td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
  .quiet { opacity: .65; } .warn { color: #c33; font-weight: 600; }
  input { font: inherit; width: 24rem; max-width: 100%; }
</style>
<h1>quiesce <span id="state" class="quiet">asking…</span></h1>
<form id="login" hidden>
  <label>These figures need a token made with <code>quiesce token --observe</code>:
  <input id="token" type="password" autocomplete="off"></label> <button>Show</button>
</form>
<p id="totals"></p>
<div id="spaces"></div>
<script>
const get = id => document.getElementById(id);
const element = (tag, text, cls) => {
  const made = document.createElement(tag);
  made.textContent = text ?? "";
  if (cls) made.className = cls;
  return made;
};
const table = (heads, rows, mark = () => "") => {
  const made = element("table"), head = element("tr");
  for (const [text, cls] of heads) head.append(element("th", text, cls));
  made.append(head);
  for (const [number, row] of rows.entries()) {
    const line = element("tr", "", mark(number));
    row.forEach((cell, index) => line.append(element("td", cell, heads[index][1])));
    made.append(line);
  }
  return made;
};
const endings = {
  convergence: "agreed: a run left the document as it was", quiet: "went quiet for two minutes",
  retired: "the action was taken out", evicted: "forgotten: too many pairs",
};
// One line for each loop: a trip and, if it was told, the clear that ended it. The newest first, held ones before all.
const loops = reports => {
  const open = new Map(), made = [];
  for (const report of [...reports].sort((a, b) => a.at - b.at)) {
    const key = JSON.stringify([report.session, report.action, report.instance, report.document]);
    if (report.event === "trip" || !open.has(key)) {
      const loop = { ...report, trip: report.event === "trip" ? report.at : null, end: null };
      open.set(key, loop);
      made.push(loop);
    }
    if (report.event === "clear") Object.assign(open.get(key), { ...report, end: report.at }), open.delete(key);
  }
  return made.sort((a, b) => (a.end !== null) - (b.end !== null) || b.at - a.at);
};
const breaker = space => {
  const found = loops(space.sessionReports), held = found.filter(loop => loop.end === null).length;
  const line = held
    ? element("p", `${held} held of ${found.length} reported. An action rewrites a document against another writer, ` +
      "and its runs are spaced out.", "warn")
    : element("p", "None is held now. These were, and are over.");
  const time = at => at === null ? "–" : new Date(at).toLocaleTimeString();
  return [element("h2", "loops that the breaker holds back"), line, table(
    [["state"], ["since"], ["session"], ["commits/s", "number"], ["action"], ["document"], ["how it ended"],
    ["renewed", "number"], ["held", "number"]],
    found.map(loop => [
      loop.end === null ? "held" : "over", time(loop.trip),
      `${loop.session} ${loop.principal}`, (space.commitRates[loop.session] ?? 0).toFixed(1), loop.action,
      `${loop.instance}/${loop.document}${loop.actsFor ? ` for ${loop.actsFor}` : ""}`,
      endings[loop.reason] ?? "–", loop.end === null ? "–" : loop.renewals,
      loop.end === null ? "–" : `${(loop.heldMs / 1000).toFixed(1)} s`]),
    index => found[index].end === null ? "warn" : "")];
};
const show = stats => {
  const verdicts = Object.entries(stats.verdicts).map(([name, count]) => `${count} ${name}`).join(", ") ||
  "none";
  get("totals").textContent =
    `${stats.connections} connections, ${stats.sessions} sessions. Commits: ${verdicts}. ` +
    `${stats.batches} durable batches, ${stats.windows} windows.`;
  const all = get("spaces");
  all.replaceChildren();
  for (const [name, space] of Object.entries(stats.spaces)) {
    all.append(element("h2", `space ${name}, at commit ${space.sequence}`));
    if (space.queue) all.append(element("p", `${space.queue} jobs wait`));
    if (space.storageFailures)
      all.append(element("p", `storage failed ${space.storageFailures} times`, "warn"));
    all.append(table(
      [["session"], ["principal"], ["state"], ["commits/s", "number"], ["tracked", "number"],
      ["unsent bytes", "number"]],
      Object.entries(space.sessions).map(([id, s]) => [
        id, s.principal, s.behind !== null ? "behind" : s.attached ? "attached" : "detached",
        space.commitRates[id].toFixed(1), s.tracked, s.unsent ? s.unsent.bytes : "–"])));
    if (space.serving) all.append(element("p",
      `${space.serving.actions} derivations served by ${space.serving.holder}, with ${space.serving.seats} seats`));
    if (space.sessionReports.length) all.append(...breaker(space));
  }
};
const ask = async () => {
  const headers = sessionStorage.token ? { Authorization: "Bearer " + sessionStorage.token } : {};
  try {
    const answer = await fetch("/api/health/stats", { headers });
    get("login").hidden = answer.ok;
    if (answer.ok) { show(await answer.json()); get("state").textContent = "serving"; }
    else get("state").textContent = (await answer.json()).message;
  } catch { get("state").textContent = "does not answer"; }
};
get("login").addEventListener("submit", event => {
  event.preventDefault();
  sessionStorage.token = get("token").value;
  ask();
});
ask();
setInterval(ask, 2000);
</script>
</html>
"""
"""The page. It shows what ``/api/health/stats`` answers, as text only."""
