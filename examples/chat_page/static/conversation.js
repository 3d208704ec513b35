// What the page knows of one conversation: the last snapshot, and what the event stream added to
// it since. No DOM and no network here.
//
// The rules, which any page of such a session needs:
// - The snapshot is the truth. The event stream adds only live text and live status of the turn
//   that runs, and says when to load the snapshot again.
// - Within one step_execution_id, the highest attempt counts; a retry starts its text anew.
// - An event may come before what it tells of can be read. So each one says what the snapshot must
//   show (`expectationOf`), and the page reads again until it does.

export const TURN_ENDS = new Set([
  "turn_completed",
  "turn_failed",
  "turn_steered",
  "turn_cancelled",
]);
const FINAL_STATUSES = new Set(["rejected", "succeeded", "failed", "outcome_unknown"]);

// A status never goes back, although a replay of the stream shows the earlier ones again.
const STATUS_ORDER = ["requested", "awaiting_approval", "approved", "running"];
// Where the stream has lost events, the page shows live text after this time nevertheless.
const REPLAY_MILLISECONDS = 2000;

export class Conversation {
  constructor() {
    this.restart(null);
  }

  // Begin with a new event stream, which replays the turn that runs.
  restart(snapshot) {
    this.steps = new Map();
    this.liveStatus = new Map();
    this.isReplaying = new Set((snapshot?.tool_calls ?? []).map(callKey));
    this.replayEnd = Date.now() + REPLAY_MILLISECONDS;
    this.load(snapshot);
  }

  // Take over a newer snapshot, while the stream goes on.
  load(snapshot) {
    this.snapshot = snapshot;
    this.finishedTurns = new Set((snapshot?.messages ?? []).map((message) => message.turn_id));
    this.finishedTurns.delete(this.activeTurn);
    for (const [key, step] of this.steps) {
      if (this.finishedTurns.has(step.turnId)) this.steps.delete(key);
    }
  }

  get activeTurn() {
    return this.snapshot?.state?.active_turn_id ?? null;
  }

  // Apply one event; return what the next snapshot must show, or null.
  apply(event) {
    if (this.finishedTurns.has(event.turn_id)) return null;
    const payload = JSON.parse(event.payload);
    switch (event.type) {
      case "text_delta":
      case "reasoning_delta": {
        const step = this.#stepOf(event);
        if (step) step[event.type === "text_delta" ? "text" : "reasoning"] += payload.text;
        return null;
      }
      case "tool_call_deferred":
        this.#stepOf(event)?.calls.add(callKey({ ...event, ...payload }));
        this.isReplaying.delete(callKey({ ...event, ...payload }));
        break;
      case "tool_call_started":
        this.liveStatus.set(callKey({ ...event, ...payload }), "running");
        break;
      case "tool_call_finished":
        this.liveStatus.set(callKey({ ...event, ...payload }), payload.status);
        break;
    }
    return expectationOf(event, payload);
  }

  #stepOf(event) {
    const key = `${event.turn_id}/${event.step_execution_id}`;
    let step = this.steps.get(key);
    if (step && event.attempt < step.attempt) return null;
    if (!step || event.attempt > step.attempt) {
      step = { key, turnId: event.turn_id, attempt: event.attempt, text: "", reasoning: "", calls: new Set() };
      this.steps.set(key, step);
    }
    return step;
  }

  // What to show, oldest first: user, assistant, call, queued and failure entries.
  entries() {
    const entries = [];
    const calls = new Map();
    for (const message of this.snapshot?.messages ?? []) {
      this.#addMessage(message, entries, calls);
    }
    for (const record of this.snapshot?.tool_calls ?? []) {
      callOf(record, entries, calls).record = record;
    }
    for (const interrupt of this.snapshot?.pending_interrupts ?? []) {
      callOf(interrupt, entries, calls).interrupt = interrupt;
    }
    for (const call of calls.values()) call.status = this.#statusOf(call);
    entries.push(...this.#liveEntries(calls));
    for (const queued of this.snapshot?.queued_messages ?? []) {
      entries.push({ kind: "user", key: `queued-${queued.message_id}`, text: queued.text, isQueued: true });
    }
    const error = this.activeTurn ? null : this.snapshot?.state?.last_turn_error;
    if (error) entries.push({ kind: "failure", key: "failure", text: error });
    return entries;
  }

  #addMessage(message, entries, calls) {
    const key = `message-${message.sequence}`;
    if (message.role === "tool") {
      callOf(message, entries, calls).result = message.text;
      return;
    }
    if (message.text) {
      const kind = message.text.startsWith("[Dex] ") ? "note" : message.role;
      entries.push({ kind, key, text: message.text });
    }
    if (message.tool_call_id) callOf(message, entries, calls).arguments = message.tool_arguments;
  }

  #statusOf({ key, record, result }) {
    const live = this.liveStatus.get(key);
    if (record && FINAL_STATUSES.has(record.status)) return record.status;
    if (record && FINAL_STATUSES.has(live)) return live;
    if (record) return laterStatus(record.status, live);
    return result === undefined ? "requested" : statusOfResult(result);
  }

  #liveEntries(calls) {
    const entries = [];
    const isCatchingUp = this.isReplaying.size > 0 && Date.now() < this.replayEnd;
    for (const step of this.steps.values()) {
      // A model call whose tool calls the snapshot has, has its text there as well.
      const isStored = step.calls.size > 0 && [...step.calls].every((key) => calls.has(key));
      if (isStored || isCatchingUp || !(step.text || step.reasoning)) continue;
      entries.push({ kind: "live", key: `live-${step.key}`, text: step.text, reasoning: step.reasoning });
    }
    const status = this.snapshot?.state?.status;
    const isThinking = this.activeTurn && entries.length === 0 && status !== "running_tools";
    if (isThinking) entries.push({ kind: "thinking", key: "thinking" });
    return entries;
  }
}

// What the snapshot must show after an event, as a function of it, and whether to insist: the page
// reads again a few times in any case, and without end until a turn that has ended is no longer
// active.
function expectationOf(event, payload) {
  const isOver = (snapshot) => snapshot.state?.active_turn_id !== event.turn_id;
  const callIn = (snapshot) =>
    snapshot.tool_calls.find((call) => call.tool_call_id === payload.tool_call_id);
  if (TURN_ENDS.has(event.type)) return { isMet: isOver, insists: true };
  switch (event.type) {
    case "turn_started":
      return { isMet: (snapshot) => snapshot.messages.some((one) => one.turn_id === event.turn_id) };
    case "tool_call_deferred":
      return { isMet: (snapshot) => isOver(snapshot) || callIn(snapshot) };
    case "tool_call_finished":
      return {
        isMet: (snapshot) => isOver(snapshot) || FINAL_STATUSES.has(callIn(snapshot)?.status),
      };
    case "interrupt_raised":
      return { isMet: (snapshot) => isOver(snapshot) || callIn(snapshot) };
    case "interrupt_resolved":
      return {
        isMet: (snapshot) =>
          isOver(snapshot) ||
          !snapshot.pending_interrupts.some((one) => one.interrupt_id === payload.interrupt_id),
      };
    default:
      return null;
  }
}

function callKey({ turn_id, tool_call_id }) {
  return `${turn_id}/${tool_call_id}`;
}

function callOf(source, entries, calls) {
  const key = callKey(source);
  let call = calls.get(key);
  if (!call) {
    call = { kind: "call", key, name: source.tool_name, arguments: source.arguments };
    calls.set(key, call);
    entries.push(call);
  }
  return call;
}

function laterStatus(stored, live) {
  return STATUS_ORDER.indexOf(live) > STATUS_ORDER.indexOf(stored) ? live : stored;
}

// Once a turn is over its records are gone, and the text that the model read is what remains.
function statusOfResult(text) {
  if (text.startsWith("The tool was not run")) return "rejected";
  if (text.startsWith("The tool call failed")) return "failed";
  if (text.startsWith("It is unknown whether")) return "outcome_unknown";
  return "succeeded";
}
