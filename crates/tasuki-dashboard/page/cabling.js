// The cabling as a picture: a cable's halves are as thick and as coloured as what the end next to them sends.

/** Steps of load: up to this share of the line, and what the legend says. */
const STEPS = [[0.01, "idle"], [0.25, "to 25 %"], [0.5, "to 50 %"], [0.8, "to 80 %"],
  [Infinity, "over 80 %"]];
const stepOf = share => STEPS.findIndex(([most]) => share <= most);
/** Width of a line in units of the picture: an idle cable is thin, a full one half as wide as a host is high. */
const widthOf = share => (1.4 + 8.6 * Math.sqrt(Math.min(Math.max(share, 0), 1))).toFixed(1);

class Cabling {
  constructor(layout, choose) {
    this.layout = layout;
    this.choose = choose;
    this.parts = new Map();
    this.cables = [];
    this.order = [];
    this.chosen = "";
    if (!layout.sketch) {
      byId("cabling").replaceChildren(make("p", {class: "hint"}, layout.no_sketch || ""));
      return;
    }
    legend();
    this.draw(layout.sketch);
  }

  draw({view, nodes, cables}) {
    const svg = make("svg", {class: cables.length > 60 ? null : "few", viewBox: view.join(" "),
      role: "group", "aria-label": "Cabling with its load"});
    // Lines that are thin in a large picture could not be seen.
    this.scale = Math.max(1, view[2] / 1100);
    this.layout.cables.forEach((cable, number) => {
      const [a, b] = cable.nodes.map(node => nodes[node]);
      const drawn = new Cable(cable, halves(a, cables[number], b), this.scale);
      svg.append(drawn.group);
      this.cables.push(drawn);
      this.listen(drawn.group, drawn.name);
    });
    const names = [...this.layout.hosts, ...this.layout.switches];
    const size = Math.min(this.scale * 1.25, roomFor(nodes));
    names.forEach((name, node) => {
      const part = drawPart(name, node < this.layout.hosts.length, nodes[node], size);
      svg.append(part.group);
      this.parts.set(name, part);
      this.listen(part.group, name);
    });
    this.order = [...svg.querySelectorAll(".part"), ...svg.querySelectorAll(".cable")];
    if (this.order.length) this.order[0].setAttribute("tabindex", "0");
    byId("cabling").replaceChildren(svg);
  }

  listen(group, name) {
    group.addEventListener("click", () => this.choose(name === this.chosen ? "" : name));
    group.addEventListener("keydown", event => {
      const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (step) {
        const at = this.order.indexOf(group);
        const next = this.order[(at + step + this.order.length) % this.order.length];
        group.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus();
      } else if (event.key === "Enter" || event.key === " ") {
        this.choose(name);
      } else if (event.key === "Escape") {
        this.choose("");
      } else {
        return;
      }
      event.preventDefault();
    });
  }

  /** Shows which part is chosen, and dims what has nothing to do with it. */
  mark(name) {
    this.chosen = name;
    const near = new Set([name]);
    const touches = cable => cable.name === name || cable.ends.includes(name)
      || cable.ends.some(end => hostOf(end) === name);
    for (const cable of this.cables) {
      if (touches(cable)) cable.ends.forEach(end => near.add(hostOf(end)));
      const isIt = cable.name === name || cable.ends.includes(name);
      cable.group.classList.toggle("chosen", isIt && name !== "");
      cable.group.classList.toggle("dim", name !== "" && !touches(cable));
    }
    for (const [own, part] of this.parts) {
      part.group.classList.toggle("chosen", own === name);
      part.group.classList.toggle("dim", name !== "" && !near.has(own));
    }
  }

  show(load, problems) {
    const nics = new Map(load.nics.map(nic => [`${nic.host}:${nic.nic}`, nic]));
    const hosts = new Map(load.hosts.map(host => [host.host, host]));
    const bad = new Set(problems.map(problem => problem.part));
    for (const cable of this.cables) cable.show(nics, bad);
    const lost = new Map(load.lost.map(lost => [lost.host, lost.why]));
    for (const [name, part] of this.parts) {
      if (part.isHost) showHost(part, name, hosts.get(name), lost.get(name));
    }
  }
}

/** The host or switch of an end, as n1 of n1:eth1; a host is its own. */
const hostOf = end => end.includes(":") ? end.slice(0, end.lastIndexOf(":")) : end;

/** Both halves of the curve from a over a control point to b (de Casteljau), each beginning at its end. */
function halves(a, control, b) {
  const middle = (p, q) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
  const [one, two] = [middle(a, control), middle(control, b)];
  const centre = middle(one, two);
  const at = point => point.map(n => n.toFixed(1)).join(" ");
  const curve = (from, by, to) => `M${at(from)}Q${at(by)} ${at(to)}`;
  return {paths: [curve(a, one, centre), curve(b, two, centre)], centre, whole: curve(a, control, b)};
}

class Cable {
  constructor({ends, rate}, {paths, centre, whole}, scale) {
    this.ends = ends;
    this.rate = rate;
    this.scale = scale;
    this.name = ends.join(" - ");
    this.halves = paths.map(d => make("path", {class: "half l0", d, "stroke-width": 1.4 * scale}));
    this.title = make("title");
    this.cross = make("g", {class: "mark", visibility: "hidden", "aria-hidden": "true",
      transform: `translate(${centre.map(n => n.toFixed(1)).join(" ")}) scale(${scale.toFixed(2)})`},
      make("circle", {r: 8}), make("path", {d: "M-3 -3L3 3M3 -3L-3 3"}));
    this.group = make("g", {class: "cable unknown", tabindex: "-1", role: "button", "data-cable": this.name},
      make("path", {class: "hit", d: whole}), ...this.halves, this.cross, this.title);
  }

  show(nics, bad) {
    const [a, b] = this.ends.map(end => nics.get(end));
    const isKnown = Boolean(a || b);
    const isDead = [a, b].some(nic => nic && !nic.up);
    // What an end sends is what its NIC says, or else what the other end receives: a switch says nothing.
    const sent = [a ? a.sent : b ? b.received : 0, b ? b.sent : a ? a.received : 0];
    const shares = sent.map(bytes => 8 * bytes / (this.rate || 1e9));
    this.halves.forEach((half, at) => {
      set(half, "class", `half l${isDead ? 0 : stepOf(shares[at])}`);
      set(half, "stroke-width", String((isDead ? 1.8 : widthOf(shares[at])) * this.scale));
    });
    this.group.classList.toggle("dead", isDead);
    this.group.classList.toggle("unknown", !isKnown);
    const isHurt = bad.has(this.name) || this.ends.some(end => bad.has(end));
    set(this.cross, "visibility", isHurt || isDead ? "visible" : "hidden");
    set(this.group, "data-load", Math.max(...shares).toFixed(4));
    set(this.group, "data-state", isDead ? "dead" : isKnown ? "up" : "unknown");
    const says = this.ends.map((end, at) => `${end} sends ${rate(sent[at])}, ${percent(shares[at])}`);
    const state = isDead ? "no signal" : isKnown ? says.join("; ") : "nothing is known";
    const text = `${this.name}, ${bits(this.rate)}: ${state}`;
    tell(this.title, text);
    set(this.group, "aria-label", text);
  }
}

/** How much larger parts may be drawn, so that between any two of them there is a third of a part to see. */
function roomFor(nodes) {
  let room = 3;
  nodes.forEach(([x, y], at) => {
    for (const [u, v] of nodes.slice(at + 1)) {
      room = Math.min(room, Math.max(Math.abs(x - u) / 52, Math.abs(y - v) / 32));
    }
  });
  return Math.max(room, 1);
}

function drawPart(name, isHost, [x, y], size) {
  const short = name.length > 11 ? name.slice(0, 10) + "…" : name;
  const wide = 16 + 7 * Math.max(short.length, 3);
  const box = make("rect", {class: "box", x: -wide / 2, y: -12, width: wide, height: 24, rx: isHost ? 4 : 12});
  const meter = make("rect", {class: "meter", x: 4 - wide / 2, y: 6.5, width: 0, height: 3});
  const title = make("title", {}, `${isHost ? "host" : "switch"} ${name}`);
  const group = make("g", {
    class: `part ${isHost ? "host" : "switch"}`, tabindex: "-1", role: "button", "data-part": name,
    "aria-label": `${isHost ? "host" : "switch"} ${name}`,
    transform: `translate(${x} ${y}) scale(${size.toFixed(3)})`,
  }, title, box, meter, make("text", {dy: isHost ? ".15em" : ".35em"}, short));
  return {group, meter, title, isHost, room: wide - 8};
}

function showHost(part, name, host, why) {
  part.group.classList.toggle("lost", why !== undefined);
  set(part.meter, "width", (host ? part.room * host.busy : 0).toFixed(1));
  let text = `host ${name}: has not answered yet`;
  if (why !== undefined) text = `host ${name}: does not answer: ${why}`;
  if (host) {
    text = `host ${name}: processors ${percent(host.busy)}, sends ${rate(host.sent)}, ` +
      `receives ${rate(host.received)}, ${host.nics_up} of ${host.nics} NICs up, ${host.ranks} ranks`;
  }
  tell(part.title, text);
  set(part.group, "aria-label", text);
}

function legend() {
  const sample = (name, width, text) => make("span", {},
    make("svg", {viewBox: "0 0 26 12", "aria-hidden": "true"},
      make("line", {class: name, x1: 1, y1: 6, x2: 25, y2: 6, "stroke-width": width})), text);
  const shares = [0, 0.13, 0.37, 0.65, 1];
  const wrong = make("span", {}, make("svg", {viewBox: "-8 -8 16 16", "aria-hidden": "true"},
    make("g", {class: "mark", transform: "scale(.85)"}, make("circle", {r: 8}),
      make("path", {d: "M-3 -3L3 3M3 -3L-3 3"}))), "a problem");
  const steps = STEPS.map(([, text], at) => sample(`l${at}`, widthOf(shares[at]), text));
  byId("legend").replaceChildren(...steps, sample("dead", 2, "no signal"), wrong, sample("unknown", 2, "not known"));
}
