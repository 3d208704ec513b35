// The page of one conversation: loads the snapshot, follows the event stream, sends what a person
// decides. The rules of what to show are in conversation.js, the drawing in view.js.

import { Conversation } from "./conversation.js";
import { TranscriptView, drawSessions, setText } from "./view.js";

const EVENT_RELOAD_MILLISECONDS = 30;
const RETRY_MILLISECONDS = 100;
const LONGEST_RETRY_MILLISECONDS = 2000;
const SNAPSHOT_TRIES = 6;
const RESTART_MILLISECONDS = 1000;
const SESSION_LIST_MILLISECONDS = 5000;

const sessionId = document.body.dataset.sessionId;
const base = `/sessions/${encodeURIComponent(sessionId)}`;
const find = (id) => document.getElementById(id);

const conversation = new Conversation();
const view = new TranscriptView(find("transcript"), find("scroll"), decide);

// -- the network -------------------------------------------------------------------------------

class Problem extends Error {
  constructor(text, status = 0) {
    super(text);
    this.status = status;
  }
}

async function request(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch {
    throw new Problem("The server does not answer. Is it running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(answer.error ?? `The server answered ${response.status}.`, response.status);
  return answer;
}

// A conversation without a first message is not stored yet, and a new one need not even be asked
// for.
let isNew = new URLSearchParams(location.search).has("new");
if (isNew) history.replaceState(null, "", location.pathname);

async function readSnapshot() {
  try {
    return await request(`${base}/snapshot`);
  } catch (problem) {
    if (problem.status === 404) return { snapshot: null, resume_token: "" };
    throw problem;
  }
}

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// -- the event stream --------------------------------------------------------------------------

// Load the snapshot and follow the events from there; tried again until the server answers.
async function start() {
  for (;;) {
    try {
      const { snapshot, resume_token: token } = isNew
        ? { snapshot: null, resume_token: "" }
        : await readSnapshot();
      isNew = false;
      conversation.restart(snapshot);
      paint();
      follow(token);
      return;
    } catch {
      showConnection("reconnecting");
      await wait(RESTART_MILLISECONDS);
    }
  }
}

function follow(token) {
  const events = new EventSource(`${base}/events?resume_token=${encodeURIComponent(token)}`);
  let wasLost = false;
  events.onopen = () => {
    showConnection("live");
    // The stream goes on after its last event; what was decided meanwhile is in the snapshot.
    if (wasLost) reload();
    wasLost = false;
  };
  events.onmessage = (message) => {
    const expectation = conversation.apply(JSON.parse(message.data));
    if (expectation) reload(expectation);
    paint();
  };
  events.onerror = () => {
    wasLost = true;
    showConnection("reconnecting");
    // The browser connects again by itself, unless the server refused the resume token.
    if (events.readyState === EventSource.CLOSED) wait(RESTART_MILLISECONDS).then(start);
  };
}

function showConnection(state) {
  find("connection").dataset.state = state;
  setText(find("connection"), state);
}

// -- the snapshot ------------------------------------------------------------------------------

let expectations = [];
let isReloading = false;
let isReloadWanted = false;

// Load the snapshot soon, and again until it shows what is expected. Many calls make one load.
async function reload(expectation) {
  if (expectation) expectations.push({ ...expectation, tries: SNAPSHOT_TRIES });
  isReloadWanted = true;
  if (isReloading) return;
  isReloading = true;
  let pause = EVENT_RELOAD_MILLISECONDS;
  while (isReloadWanted || expectations.length > 0) {
    await wait(pause);
    isReloadWanted = false;
    const due = expectations;
    expectations = [];
    const isRead = await loadSnapshot();
    const open = due.filter((one) => !isRead || !isMet(one));
    expectations.push(...open);
    pause = isReloadWanted && open.length === 0
      ? EVENT_RELOAD_MILLISECONDS
      : Math.min(Math.max(pause * 2, RETRY_MILLISECONDS), LONGEST_RETRY_MILLISECONDS);
  }
  isReloading = false;
  drawList();
}

async function loadSnapshot() {
  try {
    conversation.load((await readSnapshot()).snapshot);
  } catch {
    return false;
  }
  paint();
  return true;
}

function isMet(expectation) {
  const { snapshot } = conversation;
  if (snapshot && expectation.isMet(snapshot)) return true;
  expectation.tries -= 1;
  return expectation.tries <= 0 && !expectation.insists;
}

// -- what a person does ------------------------------------------------------------------------

async function send(text) {
  const known = (snapshot) => snapshot.messages.length + snapshot.queued_messages.length;
  const before = conversation.snapshot ? known(conversation.snapshot) : 0;
  await request(`${base}/messages`, { text });
  reload({ isMet: (snapshot) => known(snapshot) > before });
}

async function decide(interrupt, approved, reason) {
  const answer = { approved };
  if (!approved && reason) answer.rejection_message = reason;
  try {
    await request(`${base}/interrupts/${encodeURIComponent(interrupt.interrupt_id)}`, answer);
  } catch (problem) {
    if (problem.status === 409) reload();
    return problem.message;
  }
  reload();
  return "";
}

const message = find("message");

async function submit() {
  const text = message.value.trim();
  const button = find("composer").querySelector("button");
  if (!text || button.disabled) return;
  button.disabled = true;
  try {
    await send(text);
    message.value = "";
    fitMessage();
    showProblem("");
  } catch (problem) {
    showProblem(problem.message);
  } finally {
    button.disabled = false;
    message.focus();
  }
}

function showProblem(text) {
  setText(find("problem"), text);
  find("problem").hidden = !text;
}

function fitMessage() {
  message.style.height = "auto";
  message.style.height = `${Math.min(message.scrollHeight, 180)}px`;
}

// -- drawing -----------------------------------------------------------------------------------

let isPaintDue = false;

function paint() {
  if (isPaintDue) return;
  isPaintDue = true;
  requestAnimationFrame(() => {
    isPaintDue = false;
    const entries = conversation.entries();
    find("welcome").hidden = entries.length > 0;
    view.draw(entries);
  });
}

let isOnlyWaiting = false;

async function drawList() {
  try {
    const { sessions } = await request(isOnlyWaiting ? "/sessions?waiting=approval" : "/sessions");
    drawSessions(find("session-list"), find("session-list-empty"), sessions, sessionId, isOnlyWaiting);
  } catch {
    // The connection status already says it.
  }
}

find("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
message.addEventListener("input", fitMessage);
message.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    submit();
  }
});
for (const suggestion of document.querySelectorAll(".suggestion")) {
  suggestion.addEventListener("click", () => {
    message.value = suggestion.textContent;
    submit();
  });
}
find("only-waiting").addEventListener("change", (event) => {
  isOnlyWaiting = event.target.checked;
  drawList();
});
find("toggle-sessions").addEventListener("click", (event) => {
  const isOpen = document.body.classList.toggle("shows-sessions");
  event.currentTarget.setAttribute("aria-expanded", String(isOpen));
});
setInterval(() => {
  if (document.visibilityState === "visible") drawList();
}, SESSION_LIST_MILLISECONDS);

start();
drawList();
