// Tables of hosts, NICs, ranks and jobs, as tasuki top has them.

/** Rows that are shown at most: the filter finds the others. */
const ROWS_MAX = 300;
/** A share from which on it is full. */
const FULL = 0.95;

const column = (title, value, text = null, mark = null) => ({title, value, text, mark});
const share = (title, value) => ({...column(title, value, percent, row => value(row) >= FULL ? "doubt" : ""),
  isShare: true});
const lineShare = nic => nic.bits_per_second
  ? 8 * Math.max(nic.sent, nic.received) / nic.bits_per_second : null;
const memoryShare = host => host.memory_bytes ? host.memory_used_bytes / host.memory_bytes : null;
const badIf = is => row => is(row) ? "bad" : "";
const doubtIf = is => row => is(row) ? "doubt" : "";
const damage = nic => nic.errors > 0 ? "bad" : nic.errors_total > 0 ? "doubt" : "";
const named = (title, value, name) => ({...column(title, value), name});

const TABLES = {
  Hosts: {of: "hosts", none: "no host has answered yet", columns: [
    named("host", host => host.host, host => host.host),
    share("processors", host => host.busy),
    column("cores", host => host.processors),
    column("load", host => host.load, value => value.toFixed(2)),
    share("memory", memoryShare),
    column("°C", host => host.celsius, value => value === null ? "–" : value.toFixed(0),
      doubtIf(host => host.celsius >= 90)),
    column("sent", host => host.sent, rate),
    column("received", host => host.received, rate),
    column("damaged/s", host => host.errors, events, badIf(host => host.errors > 0)),
    column("NICs up", host => host.nics_up, null, badIf(host => host.nics_up < host.nics)),
    column("NICs", host => host.nics),
    column("ranks", host => host.ranks),
  ]},
  NICs: {of: "nics", none: "no NIC is known", columns: [
    named("NIC", nic => `${nic.host}:${nic.nic}`, nic => `${nic.host}:${nic.nic}`),
    column("to", nic => nic.to || "–"),
    column("state", nic => nic.up ? "up" : "DOWN", null, badIf(nic => !nic.up)),
    column("line", nic => nic.bits_per_second, bits),
    share("of line", lineShare),
    column("sent", nic => nic.sent, rate),
    column("received", nic => nic.received, rate),
    column("frames/s", nic => nic.sent_frames + nic.received_frames, events),
    column("damaged", nic => nic.errors_total, null, damage),
    column("dropped", nic => nic.dropped_total, null, doubtIf(nic => nic.dropped > 0)),
    column("lost/s", nic => nic.lost, events, doubtIf(nic => nic.lost > 0)),
    column("resent", nic => nic.resent, rate),
  ]},
  Ranks: {of: "ranks", none: "no process uses Tasuki; tasuki run starts one", columns: [
    named("host", rank => rank.host, rank => rank.host),
    column("program", rank => rank.program),
    column("rank", rank => rank.rank),
    column("job", rank => rank.job || "–"),
    column("pid", rank => rank.pid),
    column("processors", rank => rank.busy, value => value === null ? "–" : value.toFixed(2)),
    column("memory", rank => rank.memory_bytes, bytes),
    column("messages/s", rank => rank.messages_sent, events),
    column("sent", rank => rank.sent, rate),
    column("received", rank => rank.received, rate),
    column("receives", rank => rank.posted),
    column("unexpected", rank => rank.unexpected),
    column("sends", rank => rank.sending),
    column("dead peers", rank => rank.dead_peers, null, badIf(rank => rank.dead_peers > 0)),
  ]},
  Jobs: {of: "jobs", none: "no job uses Tasuki; tasuki submit or tasuki run starts one", columns: [
    column("program", job => job.program),
    column("job", job => job.job || "–"),
    column("ranks", job => job.ranks),
    column("hosts", job => job.hosts),
    column("processors", job => job.busy, value => value.toFixed(2)),
    column("memory", job => job.memory_bytes, bytes),
    column("messages/s", job => job.messages_sent, events),
    column("sent", job => job.sent, rate),
    column("ranks that receive", job => job.receiving),
    column("unexpected", job => job.unexpected),
  ]},
};

class Tables {
  constructor(choose) {
    this.choose = choose;
    this.shown = "Hosts";
    this.orders = {};
    this.load = null;
    this.tabs = new Map(Object.keys(TABLES).map(name => {
      const tab = make("button", {type: "button", role: "tab", "aria-controls": "table"});
      tab.addEventListener("click", () => this.open(name));
      tab.addEventListener("keydown", event => this.key(event, name));
      return [name, tab];
    }));
    byId("table-tabs").replaceChildren(...this.tabs.values());
    byId("filter").addEventListener("input", () => this.draw());
    this.open("Hosts");
  }

  key(event, name) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const names = Object.keys(TABLES);
    const next = names[(names.indexOf(name) + step + names.length) % names.length];
    this.open(next);
    this.tabs.get(next).focus();
    event.preventDefault();
  }

  open(name) {
    this.shown = name;
    for (const [own, tab] of this.tabs) {
      tab.setAttribute("aria-selected", String(own === name));
      tab.setAttribute("tabindex", own === name ? "0" : "-1");
    }
    this.build();
    this.draw();
  }

  show(load) {
    this.load = load;
    this.draw();
  }

  build() {
    const heads = TABLES[this.shown].columns.map((column, at) => {
      const button = make("button", {type: "button"}, column.title);
      button.addEventListener("click", () => this.sort(at));
      return make("th", {scope: "col", class: at === 0 ? "left" : null}, button);
    });
    this.heads = heads;
    this.body = make("tbody");
    this.rows = [];
    byId("table").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...heads)), this.body));
  }

  sort(at) {
    const order = this.orders[this.shown];
    // Names begin with the first, figures with the largest.
    const begins = typeof this.list().map(TABLES[this.shown].columns[at].value)[0] === "string" ? 1 : -1;
    this.orders[this.shown] = {at, sign: order && order.at === at ? -order.sign : begins};
    this.draw();
  }

  list() {
    return this.load ? this.load[TABLES[this.shown].of] : [];
  }

  /** The rows that the filter keeps, in order. */
  wanted() {
    const {columns} = TABLES[this.shown];
    const text = byId("filter").value.trim().toLowerCase();
    const order = this.orders[this.shown];
    const words = row => columns.map(column => column.value(row)).join(" ").toLowerCase();
    const rows = this.list().filter(row => text === "" || words(row).includes(text));
    if (order) {
      const {value} = columns[order.at];
      rows.sort((a, b) => order.sign * compare(value(a), value(b)));
    }
    return rows;
  }

  draw() {
    const {columns, none} = TABLES[this.shown];
    for (const [name, tab] of this.tabs) {
      tell(tab, this.load ? `${name} ${this.load[TABLES[name].of].length}` : name);
    }
    const order = this.orders[this.shown];
    this.heads.forEach((head, at) => {
      if (order && order.at === at) set(head, "aria-sort", order.sign > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    const all = this.wanted();
    const rows = all.slice(0, ROWS_MAX);
    while (this.rows.length < rows.length) this.rows.push(new Row(columns, this.choose));
    this.rows.forEach((row, at) => at < rows.length ? row.show(rows[at], this.body) : row.hide());
    let note = "";
    if (this.load && !this.list().length) note = none;
    else if (!all.length) note = "no row has this text";
    else if (all.length > rows.length) note = `${rows.length} of ${all.length} rows; filter for the others`;
    tell(byId("table-note"), note);
  }
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return typeof a === "string" ? natural(a, b) : a - b;
}

/** A row whose cells are changed and not made anew, so that what is selected or has the focus stays. */
class Row {
  constructor(columns, choose) {
    this.columns = columns;
    this.cells = columns.map((column, at) => {
      const text = column.name ? make("button", {type: "button", class: "link"}) : make("span");
      const meter = column.isShare ? make("meter", {min: 0, max: 1, high: FULL, "aria-hidden": "true"}) : null;
      const cell = make("td", {class: at === 0 ? "left" : null}, text, ...(meter ? [meter] : []));
      if (column.name) text.addEventListener("click", () => choose(column.name(this.row)));
      return {cell, text, meter};
    });
    this.element = make("tr", {}, ...this.cells.map(cell => cell.cell));
  }

  show(row, body) {
    this.row = row;
    this.columns.forEach((column, at) => {
      const {cell, text, meter} = this.cells[at];
      const value = column.value(row);
      tell(text, column.text ? column.text(value) : value === null ? "–" : String(value));
      const mark = (at === 0 ? "left " : "") + (column.mark ? column.mark(row) : "");
      set(cell, "class", mark.trim());
      if (meter) meter.value = value || 0;
    });
    if (!this.element.parentNode) body.append(this.element);
  }

  hide() {
    this.element.remove();
  }
}
