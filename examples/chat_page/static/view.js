// Draws a conversation. Everything a model, a tool or a user wrote goes in as text, never as HTML.

const STATUS_TEXT = {
  requested: "requested",
  awaiting_approval: "waits for your approval",
  approved: "about to run",
  running: "running",
  rejected: "rejected",
  succeeded: "done",
  failed: "failed",
  outcome_unknown: "outcome unknown",
  awaiting_answer: "waits for an answer",
  waiting_for_timer: "waits for a time",
  waiting_for_task: "waits for a task",
};

export class TranscriptView {
  // `decide(interrupt, approved, reason)` answers an approval and returns a problem text or "".
  constructor(transcript, scroller, decide) {
    this.transcript = transcript;
    this.scroller = scroller;
    this.decide = decide;
    this.nodes = new Map();
  }

  draw(entries) {
    const isAtEnd =
      this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < 80;
    // Nodes are kept by key, so that a selection, an open result and a half-written reason survive.
    const kept = new Map();
    entries.forEach((entry, index) => {
      const node = this.nodes.get(entry.key) ?? this.#build(entry);
      this.#fill(node, entry);
      const place = this.transcript.children[index];
      if (place !== node) this.transcript.insertBefore(node, place ?? null);
      kept.set(entry.key, node);
    });
    for (const [key, node] of this.nodes) {
      if (!kept.has(key)) node.remove();
    }
    this.nodes = kept;
    // A screen reader waits with a message until all of it is there.
    const isWriting = entries.some((entry) => entry.kind === "live");
    this.transcript.setAttribute("aria-busy", String(isWriting));
    if (isAtEnd) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  #build(entry) {
    const node = element("article", `entry ${entry.kind}`);
    node.dataset.kind = entry.kind;
    if (entry.kind === "call") return buildCall(node);
    if (entry.kind === "thinking") {
      node.append(element("span", "visually-hidden", "The agent is thinking"));
      for (let dot = 0; dot < 3; dot += 1) node.append(element("i", "dot"));
      return node;
    }
    const speakers = { user: "You", assistant: "Agent", live: "Agent", failure: "The turn failed" };
    if (speakers[entry.kind]) node.append(element("h3", "speaker", speakers[entry.kind]));
    if (entry.kind === "live") node.append(element("p", "reasoning"));
    node.append(element("p", "text"));
    return node;
  }

  #fill(node, entry) {
    if (entry.kind === "call") {
      this.#fillCall(node, entry);
      return;
    }
    if (entry.kind === "thinking") return;
    setText(node.querySelector(".text"), entry.text);
    if (entry.kind === "live") setText(node.querySelector(".reasoning"), entry.reasoning);
    if (entry.kind === "user") node.classList.toggle("queued", Boolean(entry.isQueued));
  }

  #fillCall(node, call) {
    node.dataset.status = call.status;
    node.dataset.tool = call.name;
    setText(node.querySelector(".tool-name"), call.name);
    setText(node.querySelector(".status"), STATUS_TEXT[call.status] ?? call.status);
    const shownArguments = call.record?.arguments ?? call.arguments ?? call.interrupt?.arguments;
    fillArguments(node.querySelector(".arguments"), shownArguments ?? "");
    const details = node.querySelector("details");
    const { output, error, rejection_message: rejection } = call.record ?? {};
    const outcome = call.result ?? output ?? error ?? rejection;
    details.hidden = !outcome;
    setText(details.querySelector("pre"), readable(outcome ?? ""));
    this.#fillApproval(node, call.interrupt);
  }

  #fillApproval(node, interrupt) {
    let form = node.querySelector("form");
    if (!interrupt || interrupt.kind !== "approval") {
      form?.remove();
      return;
    }
    if (form) return;
    form = buildApproval(interrupt);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const approved = event.submitter?.value === "approve";
      setDisabled(form, true);
      const reason = form.elements.reason.value.trim();
      const problem = await this.decide(interrupt, approved, reason);
      setText(form.querySelector(".problem"), problem);
      form.querySelector(".problem").hidden = !problem;
      if (problem) setDisabled(form, false);
      // The button that had the focus goes away with the form.
      else node.focus({ preventScroll: true });
    });
    node.append(form);
  }
}

export function drawSessions(list, empty, sessions, currentId, onlyWaiting) {
  list.replaceChildren(
    ...sessions.map((session) => {
      const link = element("a", "session");
      link.href = `/sessions/${encodeURIComponent(session.session_id)}`;
      link.append(element("span", "session-name", session.session_id));
      const started = new Date(session.started_at);
      link.append(element("span", "muted", started.toLocaleString([], { dateStyle: "short", timeStyle: "short" })));
      if (session.waits_for_approval) link.append(element("span", "badge", "approval"));
      if (session.session_id === currentId) link.setAttribute("aria-current", "page");
      const item = element("li");
      item.append(link);
      return item;
    }),
  );
  empty.hidden = sessions.length > 0;
  setText(empty, onlyWaiting ? "None waits for approval." : "None yet.");
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function buildCall(node) {
  node.tabIndex = -1;
  const head = element("div", "call-head");
  head.append(element("span", "lamp"), element("h3", "tool-name"), element("span", "status"));
  const details = element("details");
  details.append(element("summary", "", "Result"), element("pre"));
  node.append(head, element("dl", "arguments"), details);
  return node;
}

function buildApproval(interrupt) {
  const form = element("form", "approval");
  form.dataset.interruptId = interrupt.interrupt_id;
  form.setAttribute("aria-label", `Approval of ${interrupt.tool_name}`);
  const reason = element("input");
  reason.name = "reason";
  reason.maxLength = 500;
  reason.autocomplete = "off";
  const label = element("label", "", "Reason, if you reject it; the agent reads it");
  label.append(reason);
  // Enter in the field means the first submit button, so that one must be the harmless choice.
  const reject = submitButton("Reject", "reject", "danger");
  const approve = submitButton("Approve", "approve", "primary");
  const buttons = element("div", "buttons");
  buttons.append(reject, approve);
  const problem = element("p", "problem");
  problem.setAttribute("role", "alert");
  problem.hidden = true;
  form.append(element("p", "ask", `Run ${interrupt.tool_name} with these arguments?`), label, buttons, problem);
  return form;
}

function submitButton(text, value, className) {
  const button = element("button", className, text);
  button.type = "submit";
  button.value = value;
  return button;
}

// Arguments are usually a JSON object; whatever else a model wrote is shown as it is.
function fillArguments(list, text) {
  if (list.dataset.shown === text) return;
  list.dataset.shown = text;
  let values;
  try {
    values = JSON.parse(text);
  } catch {
    values = null;
  }
  const isObject = values !== null && typeof values === "object" && !Array.isArray(values);
  const rows = isObject ? Object.entries(values) : text ? [["arguments", text]] : [];
  list.replaceChildren(
    ...rows.flatMap(([name, value]) => [
      element("dt", "", name),
      element("dd", "", typeof value === "string" ? value : JSON.stringify(value)),
    ]),
  );
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function setDisabled(form, isDisabled) {
  for (const control of form.elements) control.disabled = isDisabled;
}

function element(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}
