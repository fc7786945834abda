// The token, the stream of events, and what is shown of each.

/** Seconds without an event after which what is shown is said to be old. */
const OLD = 3;
/** Seconds until the next try after the stream broke; it doubles up to the second figure. */
const AGAIN = [1, 15];

/** A request for data failed for want of the token. */
class Locked extends Error {}

let token = "";

async function ask(path) {
  const answer = await fetch(path, {headers: {Authorization: `Bearer ${token}`}, cache: "no-store"});
  if (answer.status === 401) throw new Locked();
  return answer;
}

async function askJson(path) {
  const answer = await ask(path);
  return answer.ok ? answer.json() : null;
}

class Page {
  constructor(layout) {
    this.layout = layout;
    this.last = null;
    this.heard = 0;
    this.why = "";
    tell(byId("title"), layout.title);
    document.title = `${layout.title} – Tasuki`;
    this.cabling = new Cabling(layout, name => this.choose(name));
    this.charts = new Charts(askJson);
    this.tables = new Tables(name => this.choose(name));
    setInterval(() => this.state(), 500);
  }

  /** Shows one host, NIC, cable, or everything: in the picture, and its timeline. */
  choose(name) {
    this.cabling.mark(name);
    const ends = name.split(" - ");
    const switches = this.layout.switches;
    // Of a cable the timeline is that of the end that is a NIC; a switch has none.
    const subject = ends.find(end => !switches.includes(hostOf(end) || end)) || "";
    this.charts.choose(subject);
  }

  /** Whether figures are live, and since when not. */
  state() {
    const silent = (performance.now() - this.heard) / 1000;
    const isOld = !this.heard || silent > OLD;
    document.body.classList.toggle("stale", Boolean(this.heard) && isOld);
    const state = byId("state");
    set(state, "class", `state ${isOld ? this.heard ? "old" : "" : "live"}`.trim());
    const why = this.why ? ` (${this.why})` : "";
    tell(state, !this.heard ? `connecting${why}` : isOld ? `old: nothing for ${ago(silent)}${why}` : "live");
  }

  async take({second, load, problems}) {
    const before = this.last;
    this.last = second;
    this.heard = performance.now();
    this.why = "";
    this.cabling.show(load, problems);
    this.tables.show(load);
    this.totals(load);
    this.problems(problems);
    this.state();
    if (before === null) {
      this.charts.offer(this.layout, load, name => this.choose(name));
      await this.charts.choose("");
    } else if (second === before + 1) {
      this.charts.add(load);
    } else {
      // Some seconds were not received: the history has them.
      await this.charts.reload();
    }
  }

  totals(load) {
    const sum = of => load.hosts.reduce((all, host) => all + of(host), 0);
    const silent = load.lost.length + load.awaited.length;
    const all = load.hosts.length + silent;
    const figures = [
      ["hosts", silent ? `${load.hosts.length} of ${all}` : String(all)],
      ["processors", load.hosts.length ? percent(sum(host => host.busy) / load.hosts.length) : "–"],
      ["sent", rate(sum(host => host.sent))],
      ["NICs up", `${sum(host => host.nics_up)} of ${sum(host => host.nics)}`],
      ["ranks", String(load.ranks.length)],
      ["jobs", String(load.jobs.length)],
    ];
    const list = byId("totals");
    if (list.children.length !== figures.length) {
      list.replaceChildren(...figures.map(([name]) => make("div", {}, make("dt", {}, name), make("dd"))));
    }
    figures.forEach(([, text], at) => tell(list.children[at].lastChild, text));
  }

  problems(problems) {
    const bad = problems.filter(problem => problem.severity === "bad").length;
    const doubtful = problems.length - bad;
    tell(byId("problems-count"), problems.length ? `${bad} wrong, ${doubtful} worth a look` : "");
    const text = JSON.stringify(problems);
    if (text === this.shownProblems) return;
    this.shownProblems = text;
    const none = make("li", {class: "none"}, make("b", {}, "Nothing is known to be wrong."),
      make("small", {}, "tasuki check tries every cable; this page looks only at what hosts count."));
    const items = problems.map(problem => {
      const part = make("button", {type: "button"}, problem.part);
      part.addEventListener("click", () => this.choose(problem.part));
      return make("li", {class: problem.severity}, make("b", {}, part), " " + problem.says,
        make("small", {}, problem.advice));
    });
    byId("problem-list").replaceChildren(...(items.length ? items : [none]));
  }
}

/** Reads server-sent events until they end. EventSource cannot send the token as a header. */
async function follow(page) {
  const answer = await ask("/data/events");
  if (!answer.ok) throw new Error((await answer.text()).trim());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    // What has queued up while the page was hidden: the last of it is what is so now.
    const last = events.filter(event => event.startsWith("data: ")).at(-1);
    if (last) await page.take(JSON.parse(last.slice(6)));
  }
}

const pause = seconds => new Promise(done => setTimeout(done, 1000 * seconds));

async function live(page) {
  let wait = AGAIN[0];
  for (;;) {
    const heard = page.heard;
    try {
      await follow(page);
      page.why = "the dashboard has ended";
    } catch (error) {
      if (error instanceof Locked) return login("The dashboard has been started anew, with another token.");
      page.why = error instanceof TypeError ? "the dashboard does not answer" : error.message;
    }
    wait = page.heard > heard ? AGAIN[0] : Math.min(2 * wait, AGAIN[1]);
    await pause(wait);
  }
}

function login(why) {
  sessionStorage.removeItem("token");
  byId("main").hidden = true;
  byId("login").hidden = false;
  tell(byId("state"), "locked");
  if (why) tell(byId("login-why"), why);
  byId("token").focus();
}

async function start() {
  try {
    const layout = await askJson("/data/layout");
    sessionStorage.setItem("token", token);
    byId("login").hidden = true;
    byId("main").hidden = false;
    live(new Page(layout));
  } catch (error) {
    if (error instanceof Locked) login(token ? "This token is not the dashboard's." : "");
    else tell(byId("state"), "the dashboard does not answer");
  }
}

byId("login").addEventListener("submit", event => {
  event.preventDefault();
  const given = byId("token").value.trim();
  token = given.includes("#") ? given.split("#").pop() : given;
  byId("token").value = "";
  start();
});

byId("skip").addEventListener("click", () => byId("problems").focus());
// An address with another token that is entered into the same tab loads nothing by itself.
window.addEventListener("hashchange", () => location.reload());

// The token does not stay in the address, where it could be seen or copied along.
token = location.hash.slice(1) || sessionStorage.getItem("token") || "";
if (location.hash) history.replaceState(null, "", location.pathname);
start();
