//! The tables of a cluster file: cluster, defaults, hosts with NICs, switches, and cables as written.

use super::{
    fields::{Fields, Value, kind},
    problem::{Problem, check_mac},
    queue::read_queue,
    report::{Findings, Span},
    switches::read_switch,
};
use crate::{
    Addressing, Cluster, DEFAULT_MTU, DEFAULT_RATE, DelayWish, Host, MTU_MAX, MTU_MIN, Nic, Rate, SshAddress,
    SshJump, SshOptions, SshUser, Striping, Tuning,
    delay::DelayBound,
    names::{check_cluster, check_interface, check_label},
    ssh::BadSsh,
};
use serde_spanned::Spanned;
use std::ops::RangeInclusive;
use toml::de::{DeTable, DeValue};

/// Cores of one host.
const CORES: RangeInclusive<u32> = 1..=65_535;
/// Frames of a piece: what the kernel takes for `gso_max_segs`.
const PIECES: RangeInclusive<u32> = 1..=65_535;
/// Ports that sshd can listen on.
const SSH_PORTS: RangeInclusive<u32> = 1..=65_535;
const MTUS: RangeInclusive<u32> = MTU_MIN..=MTU_MAX;

const A_NAME: &str = "a name in quotes";

/// A file as it was read: the cluster without its cables, the cables as written, and the places of
/// everything.
pub(super) struct Document {
    pub(super) cluster: Cluster,
    /// Whether the file names the cluster.
    pub(super) named: bool,
    pub(super) cables: Vec<RawCable>,
    pub(super) marks: Marks,
}

/// Places in the file, by the indices of the cluster.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) identity: Span,
    pub(super) link: Span,
    pub(super) addresses: Span,
    pub(super) hosts: Vec<HostMarks>,
    pub(super) switches: Vec<Span>,
    /// The table `[striping]`, and the names in it.
    pub(super) striping: Span,
    pub(super) stripe_nics: Vec<Span>,
    pub(super) stripe_except: Vec<Span>,
    /// A bound in `[tune]`, if there is one.
    pub(super) tune: Option<Span>,
    /// The places of the cables whose ends were found.
    pub(super) cables: Vec<Span>,
}

pub(super) struct HostMarks {
    pub(super) name: Span,
    pub(super) nics: Vec<NicMarks>,
}

/// Places of name, MAC address and MTU; the place of the NIC itself for a key that is missing.
pub(super) struct NicMarks {
    pub(super) name: Span,
    pub(super) mac: Span,
    pub(super) mtu: Span,
}

/// A cable as written.
pub(super) struct RawCable {
    pub(super) ends: [Spanned<String>; 2],
    pub(super) length_m: Option<f64>,
    pub(super) span: Span,
}

struct Defaults {
    rate: Rate,
    mtu: u32,
    cores: Option<u32>,
}

/// Reads the tables of a file.
pub(super) fn read(file: &Spanned<DeTable<'_>>, findings: &Findings) -> Document {
    let known =
        ["cluster", "defaults", "ssh", "security", "striping", "tune", "queue", "host", "switch", "cable"];
    let root = Fields::new(file.get_ref(), 0..0, "", &known, findings);
    let mut marks = Marks::default();
    let (name, addressing, fallback) = read_cluster(&root, &mut marks, findings);
    let defaults = read_defaults(&root, findings);
    let named = name.is_some();
    let mut cluster = Cluster {
        name: name.unwrap_or_default(),
        source: None,
        addressing,
        fallback,
        authenticate: read_security(&root, findings),
        striping: read_striping(&root, &mut marks, findings),
        tune: read_tune(&root, &mut marks, findings),
        queue: read_queue(&root, findings),
        ssh: read_ssh(&root, "ssh", findings),
        hosts: Vec::new(),
        switches: Vec::new(),
        cables: Vec::new(),
    };
    for value in root.array("host", "every host as a table of its own: [[host]]") {
        if let Some((host, host_marks)) = read_host(value, &defaults, findings) {
            cluster.hosts.push(host);
            marks.hosts.push(host_marks);
        }
    }
    for value in root.array("switch", "every switch as a table of its own: [[switch]]") {
        if let Some((switch, span)) = read_switch(value, defaults.rate, findings) {
            cluster.switches.push(switch);
            marks.switches.push(span);
        }
    }
    let cables = root.array("cable", "every cable as a table of its own: [[cable]]");
    let cables = cables.iter().filter_map(|value| read_cable(value, findings)).collect();
    let no_hosts = |value: &Value<'_>| value.get_ref().as_array().is_some_and(|hosts| hosts.is_empty());
    if root.get("host").is_none_or(no_hosts) {
        root.note(0..0, "host", Problem::NoHosts);
    }
    Document { cluster, named, cables, marks }
}

fn read_cluster(
    root: &Fields<'_, '_>,
    marks: &mut Marks,
    findings: &Findings,
) -> (Option<String>, Addressing, bool) {
    let mut addressing = Addressing::default();
    let known = ["name", "identity", "link", "addresses", "fallback"];
    let fields = root.get("cluster").and_then(|value| Fields::of(value, "cluster", &known, findings));
    let Some(fields) = fields else { return (None, addressing, true) };
    let name = fields.string("name", A_NAME);
    if let Some(name) = &name {
        check_name(&fields, "cluster", name, check_cluster);
    }
    (marks.identity, marks.link) = (fields.span.clone(), fields.span.clone());
    if let Some(range) = fields.parsed("identity", "a range, as \"10.77.0.0/16\"") {
        marks.identity = range.span();
        addressing.identity = range.into_inner();
    }
    if let Some(range) = fields.parsed("link", "a range, as \"10.78.0.0/16\"") {
        marks.link = range.span();
        addressing.link = range.into_inner();
    }
    if let Some(style) = fields.parsed("addresses", "\"identity\" or \"subnets\"") {
        marks.addresses = style.span();
        addressing.style = style.into_inner();
    }
    (name.map(Spanned::into_inner), addressing, fields.boolean("fallback").unwrap_or(true))
}

fn read_defaults(root: &Fields<'_, '_>, findings: &Findings) -> Defaults {
    let mut defaults = Defaults { rate: DEFAULT_RATE, mtu: DEFAULT_MTU, cores: None };
    let known = ["rate", "mtu", "cores"];
    let fields = root.get("defaults").and_then(|value| Fields::of(value, "defaults", &known, findings));
    if let Some(fields) = fields {
        defaults.rate = fields.rate("rate").unwrap_or(defaults.rate);
        defaults.mtu = fields.count("mtu", MTUS).map_or(defaults.mtu, Spanned::into_inner);
        defaults.cores = fields.count("cores", CORES).map(Spanned::into_inner);
    }
    defaults
}

/// Reads `[security]`: whether packets carry keyed tags.
fn read_security(root: &Fields<'_, '_>, findings: &Findings) -> bool {
    let table = root.get("security");
    let fields = table.and_then(|value| Fields::of(value, "security", &["authenticate"], findings));
    fields.and_then(|fields| fields.boolean("authenticate")).unwrap_or(false)
}

fn read_striping(root: &Fields<'_, '_>, marks: &mut Marks, findings: &Findings) -> Option<Striping> {
    let known = ["policy", "granularity", "nics", "except"];
    let fields = Fields::of(root.get("striping")?, "striping", &known, findings)?;
    marks.striping = fields.span.clone();
    let policy = fields.parsed("policy", "a policy, as \"shortest-delay\"");
    let nics = fields.names("nics", "names of NICs, as [\"eth1\", \"eth2\"]");
    let except = fields.names("except", "names of hosts, as [\"n1\"]");
    marks.stripe_nics = nics.iter().map(Spanned::span).collect();
    marks.stripe_except = except.iter().map(Spanned::span).collect();
    Some(Striping {
        policy: policy.map(Spanned::into_inner).unwrap_or_default(),
        granularity: fields.count("granularity", PIECES).map(Spanned::into_inner),
        nics: nics.into_iter().map(Spanned::into_inner).collect(),
        except: except.into_iter().map(Spanned::into_inner).collect(),
    })
}

fn read_tune(root: &Fields<'_, '_>, marks: &mut Marks, findings: &Findings) -> Option<Tuning> {
    let fields = Fields::of(root.get("tune")?, "tune", &["delay", "least", "most"], findings)?;
    let bounds =
        ["least", "most"].map(|key| fields.parsed::<DelayBound>(key, "a time, as \"500us\", or \"off\""));
    marks.tune = bounds.iter().flatten().next().map(Spanned::span);
    let [least, most] = bounds.map(|bound| bound.map(|bound| bound.into_inner().0));
    let usual = Tuning::default();
    Some(Tuning {
        delay: read_delay(&fields),
        least_us: least.unwrap_or(usual.least_us),
        most_us: most.unwrap_or(usual.most_us),
    })
}

fn read_delay(fields: &Fields<'_, '_>) -> Option<DelayWish> {
    fields.parsed("delay", "a delay, as \"off\", \"50us\" or \"dynamic\"").map(Spanned::into_inner)
}

fn read_host(value: &Value<'_>, defaults: &Defaults, findings: &Findings) -> Option<(Host, HostMarks)> {
    let known = ["name", "management", "ssh", "cores", "rack", "module", "relay", "delay", "nic"];
    let fields = Fields::of(value, "host", &known, findings)?;
    let (name, name_span) = read_name(&fields, "host", check_label);
    let (management, ssh) = read_access(&fields, findings);
    let mut host = Host {
        name,
        management,
        ssh,
        cores: fields.count("cores", CORES).map(Spanned::into_inner).or(defaults.cores),
        rack: read_text(&fields, "rack"),
        module: read_text(&fields, "module"),
        relay: fields.boolean("relay").unwrap_or(true),
        delay: read_delay(&fields),
        nics: Vec::new(),
    };
    let mut marks = HostMarks { name: name_span, nics: Vec::new() };
    for value in fields.array("nic", "NICs as an array: nic = [ { name = \"eth1\" } ], or as [[host.nic]]") {
        if let Some((nic, nic_marks)) = read_nic(value, defaults, findings) {
            host.nics.push(nic);
            marks.nics.push(nic_marks);
        }
    }
    Some((host, marks))
}

/// Reads a free text. It is printed on terminals and into pages and reports, so it may hold only visible
/// characters.
fn read_text(fields: &Fields<'_, '_>, key: &str) -> Option<String> {
    let text = fields.string(key, "a text in quotes")?;
    if let Some(control) = text.get_ref().chars().find(|c| c.is_control()) {
        fields.note(text.span(), key, Problem::ControlCharacter(control));
    }
    Some(text.into_inner())
}

/// Reads how ssh reaches a host: `management` and `ssh = { ... }`.
fn read_access(fields: &Fields<'_, '_>, findings: &Findings) -> (Option<SshAddress>, SshOptions) {
    let management = read_checked(fields, "management", "an address in quotes", SshAddress::parse);
    let ssh = read_ssh(fields, "host.ssh", findings);
    if let Some(user) = management.as_ref().and_then(SshAddress::user)
        && ssh.user.is_some()
        && let Some(value) = fields.get("ssh")
    {
        let reason = format!("the host's user is {user} in `management` already");
        let advice = "name the user once, in `management` or in `ssh`";
        fields.note(value.span(), "ssh", Problem::BadSsh { reason, advice });
    }
    (management, ssh)
}

/// Reads the table `ssh` of the file or of a host.
fn read_ssh(fields: &Fields<'_, '_>, path: &'static str, findings: &Findings) -> SshOptions {
    let table =
        fields.get("ssh").and_then(|value| Fields::of(value, path, &["user", "port", "jump"], findings));
    let Some(table) = table else { return SshOptions::default() };
    SshOptions {
        user: read_checked(&table, "user", A_NAME, SshUser::parse),
        port: table.count("port", SSH_PORTS).and_then(|port| u16::try_from(port.into_inner()).ok()),
        jump: read_checked(&table, "jump", "a jump host in quotes, as \"me@gateway:22\"", SshJump::parse),
    }
}

/// Reads a text that has a form of its own: of an address, a user, a jump host, names of interfaces.
pub(super) fn read_checked<T>(
    fields: &Fields<'_, '_>,
    key: &str,
    expected: &'static str,
    parse: fn(&str) -> Result<T, BadSsh>,
) -> Option<T> {
    let text = fields.string(key, expected)?;
    let result = parse(text.get_ref());
    result
        .map_err(|BadSsh { reason, advice }| {
            fields.note(text.span(), key, Problem::BadSsh { reason, advice })
        })
        .ok()
}

fn read_nic(value: &Value<'_>, defaults: &Defaults, findings: &Findings) -> Option<(Nic, NicMarks)> {
    let fields = Fields::of(value, "host.nic", &["name", "mac", "rate", "mtu", "ip", "delay"], findings)?;
    let (name, name_span) = read_name(&fields, "NIC", check_interface);
    let mac = fields.parsed("mac", "a MAC address, as \"02:54:00:01:00:01\"");
    if let Some(mac) = &mac
        && let Err(problem) = check_mac(*mac.get_ref())
    {
        fields.note(mac.span(), "mac", problem);
    }
    let mtu = fields.count("mtu", MTUS);
    let span_of = |span: Option<Span>| span.unwrap_or_else(|| name_span.clone());
    let marks = NicMarks {
        mac: span_of(mac.as_ref().map(Spanned::span)),
        mtu: span_of(mtu.as_ref().map(Spanned::span)),
        name: name_span.clone(),
    };
    let rate = fields.rate("rate").unwrap_or(defaults.rate);
    let mtu = mtu.map_or(defaults.mtu, Spanned::into_inner);
    let ip = fields.boolean("ip").unwrap_or(true);
    let delay = read_delay(&fields);
    Some((Nic { name, mac: mac.map(Spanned::into_inner), rate, mtu, ip, delay }, marks))
}

fn read_cable(value: &Value<'_>, findings: &Findings) -> Option<RawCable> {
    let fields = Fields::of(value, "cable", &["ends", "length"], findings)?;
    let length = fields.number("length");
    if let Some(length) = &length {
        let metres = *length.get_ref();
        if !metres.is_finite() || metres < 0.0 {
            fields.note(length.span(), "length", Problem::BadLength(metres.to_string()));
        }
    }
    let ends = read_ends(&fields)?;
    Some(RawCable { ends, length_m: length.map(Spanned::into_inner), span: fields.span })
}

fn read_ends(fields: &Fields<'_, '_>) -> Option<[Spanned<String>; 2]> {
    const EXPECTED: &str = "two ends, as [\"n1:eth1\", \"sw1:1\"]";
    let Some(value) = fields.get("ends") else {
        fields.missing("ends");
        return None;
    };
    let wrong = |span, found| fields.note(span, "ends", Problem::WrongType { expected: EXPECTED, found });
    let [a, b] = fields.array("ends", EXPECTED) else {
        if let DeValue::Array(array) = value.get_ref() {
            wrong(value.span(), if array.len() < 2 { "fewer than two" } else { "more than two" });
        }
        return None;
    };
    let end = |value: &Value<'_>| match value.get_ref().as_str() {
        Some(text) => Some(Spanned::new(value.span(), text.to_owned())),
        None => {
            wrong(value.span(), kind(value.get_ref()));
            None
        }
    };
    let (a, b) = (end(a), end(b));
    Some([a?, b?])
}

/// Reads the name of a part, which must be there and valid. An empty name is reported here and not again.
pub(super) fn read_name(fields: &Fields<'_, '_>, of: &'static str, check: Rule) -> (String, Span) {
    match fields.required("name", A_NAME) {
        Some(name) => {
            check_name(fields, of, &name, check);
            (name.get_ref().clone(), name.span())
        }
        None => (String::new(), fields.span.clone()),
    }
}

pub(super) type Rule = fn(&str) -> Result<(), String>;

fn check_name(fields: &Fields<'_, '_>, of: &'static str, name: &Spanned<String>, check: Rule) {
    if let Err(reason) = check(name.get_ref()) {
        let problem = Problem::BadName { of, name: name.get_ref().clone(), reason };
        fields.note(name.span(), "name", problem);
    }
}
