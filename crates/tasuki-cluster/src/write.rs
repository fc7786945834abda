//! Writing cluster files.

use crate::{
    AddressStyle, Addressing, Cable, Cluster, DEFAULT_MTU, DEFAULT_RATE, Delay, Host, Nic, Rate, SshOptions,
    Striping, Switch, Tuning,
};
use std::{collections::BTreeMap, fmt::Write};

/// Longest line of NICs, characters; more NICs are written one to a line.
const LINE_MAX: usize = 100;

/// The most common values, which are written once.
struct Defaults {
    rate: Rate,
    mtu: u32,
    /// Written only if every host has a number: a host without one would take this one.
    cores: Option<u32>,
}

impl Cluster {
    /// The text of the cluster's file. Reading it gives the same cluster.
    pub fn to_toml(&self) -> String {
        let nics = || self.hosts.iter().flat_map(|host| &host.nics);
        let switches = self.switches.iter().map(|switch| switch.rate);
        let defaults = Defaults {
            rate: most_common(nics().map(|nic| nic.rate).chain(switches)).unwrap_or(DEFAULT_RATE),
            mtu: most_common(nics().map(|nic| nic.mtu)).unwrap_or(DEFAULT_MTU),
            cores: most_common(self.hosts.iter().map(|host| host.cores))
                .filter(|_| self.hosts.iter().all(|host| host.cores.is_some()))
                .flatten(),
        };
        let mut text = format!("[cluster]\nname = {}\n", quote(&self.name));
        let ours = Addressing::default();
        let Addressing { identity, link, style } = self.addressing;
        if (identity, link) != (ours.identity, ours.link) {
            line(&mut text, format_args!("identity = \"{identity}\"\nlink = \"{link}\""));
        }
        if style == AddressStyle::Subnets {
            line(&mut text, format_args!("addresses = \"subnets\""));
        }
        if !self.fallback {
            line(&mut text, format_args!("fallback = false"));
        }
        let Defaults { rate, mtu, cores } = defaults;
        line(&mut text, format_args!("\n[defaults]\nrate = \"{rate}\"\nmtu = {mtu}"));
        if let Some(cores) = cores {
            line(&mut text, format_args!("cores = {cores}"));
        }
        if !self.ssh.is_empty() {
            line(&mut text, format_args!("\n[ssh]\n{}", ssh_keys(&self.ssh).join("\n")));
        }
        if self.authenticate {
            line(&mut text, format_args!("\n[security]\nauthenticate = true"));
        }
        if !self.queue.lines().is_empty() {
            line(&mut text, format_args!("\n[queue]\n{}", self.queue.lines().join("\n")));
        }
        if let Some(striping) = &self.striping {
            write_striping(&mut text, striping);
        }
        if let Some(tune) = &self.tune {
            write_tune(&mut text, tune);
        }
        self.hosts.iter().for_each(|host| write_host(&mut text, host, &defaults));
        self.switches.iter().for_each(|switch| write_switch(&mut text, switch, &defaults));
        self.cables.iter().for_each(|cable| self.write_cable(&mut text, cable));
        text
    }

    fn write_cable(&self, text: &mut String, cable: &Cable) {
        let [a, b] = cable.ends.map(|end| quote(&self.end_name(end)));
        line(text, format_args!("\n[[cable]]\nends = [{a}, {b}]"));
        if let Some(length) = cable.length_m {
            // Debug writes a float in a form that reads back as the same number, and always as a float.
            line(text, format_args!("length = {length:?}"));
        }
    }
}

fn write_striping(text: &mut String, striping: &Striping) {
    line(text, format_args!("\n[striping]\npolicy = \"{}\"", striping.policy));
    if let Some(granularity) = striping.granularity {
        line(text, format_args!("granularity = {granularity}"));
    }
    for (key, names) in [("nics", &striping.nics), ("except", &striping.except)] {
        if !names.is_empty() {
            let names: Vec<_> = names.iter().map(|name| quote(name)).collect();
            line(text, format_args!("{key} = [{}]", names.join(", ")));
        }
    }
}

fn write_tune(text: &mut String, tune: &Tuning) {
    line(text, format_args!("\n[tune]"));
    if let Some(delay) = tune.delay {
        line(text, format_args!("delay = \"{delay}\""));
    }
    let usual = Tuning::default();
    for (key, us, usual) in [("least", tune.least_us, usual.least_us), ("most", tune.most_us, usual.most_us)]
    {
        if us != usual {
            line(text, format_args!("{key} = \"{}\"", Delay::from_us(us)));
        }
    }
}

/// Keys and values of `[ssh]`, or of a host's `ssh`.
fn ssh_keys(ssh: &SshOptions) -> Vec<String> {
    let user = ssh.user.as_ref().map(|user| format!("user = {}", quote(user.as_str())));
    let port = ssh.port.map(|port| format!("port = {port}"));
    let jump = ssh.jump.as_ref().map(|jump| format!("jump = {}", quote(jump.as_str())));
    [user, port, jump].into_iter().flatten().collect()
}

fn write_host(text: &mut String, host: &Host, defaults: &Defaults) {
    line(text, format_args!("\n[[host]]\nname = {}", quote(&host.name)));
    if let Some(management) = &host.management {
        line(text, format_args!("management = {}", quote(&management.to_string())));
    }
    if !host.ssh.is_empty() {
        line(text, format_args!("ssh = {{ {} }}", ssh_keys(&host.ssh).join(", ")));
    }
    if let Some(cores) = host.cores.filter(|_| host.cores != defaults.cores) {
        line(text, format_args!("cores = {cores}"));
    }
    if let Some(rack) = &host.rack {
        line(text, format_args!("rack = {}", quote(rack)));
    }
    if let Some(module) = &host.module {
        line(text, format_args!("module = {}", quote(module)));
    }
    if !host.relay {
        line(text, format_args!("relay = false"));
    }
    if let Some(delay) = host.delay {
        line(text, format_args!("delay = \"{delay}\""));
    }
    let nics: Vec<_> = host.nics.iter().map(|nic| inline_nic(nic, defaults)).collect();
    let on_one_line = format!("nic = [{}]", nics.join(", "));
    match nics.len() {
        0 => {}
        _ if on_one_line.len() <= LINE_MAX => line(text, format_args!("{on_one_line}")),
        _ => line(text, format_args!("nic = [\n  {},\n]", nics.join(",\n  "))),
    }
}

fn inline_nic(nic: &Nic, defaults: &Defaults) -> String {
    let mut table = format!("{{ name = {}", quote(&nic.name));
    // Writing to a String cannot fail.
    let _ = nic.mac.map_or(Ok(()), |mac| write!(table, ", mac = \"{mac}\""));
    if nic.rate != defaults.rate {
        let _ = write!(table, ", rate = \"{}\"", nic.rate);
    }
    if nic.mtu != defaults.mtu {
        let _ = write!(table, ", mtu = {}", nic.mtu);
    }
    if !nic.ip {
        table += ", ip = false";
    }
    let _ = nic.delay.map_or(Ok(()), |delay| write!(table, ", delay = \"{delay}\""));
    table + " }"
}

fn write_switch(text: &mut String, switch: &Switch, defaults: &Defaults) {
    line(text, format_args!("\n[[switch]]\nname = {}\nports = {}", quote(&switch.name), switch.ports));
    if switch.rate != defaults.rate {
        line(text, format_args!("rate = \"{}\"", switch.rate));
    }
    let Some(agent) = &switch.agent else { return };
    line(text, format_args!("management = \"{}\"", agent.address));
    if let Some(file) = &agent.community_file {
        line(text, format_args!("community_file = {}", quote(&file.to_string_lossy())));
    }
    if let Some(names) = &agent.interfaces {
        line(text, format_args!("interfaces = {}", quote(names.as_str())));
    }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{arguments}");
}

/// The most frequent value; of several such values the smallest.
fn most_common<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_insert(0_usize) += 1);
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

/// The text as a basic string of TOML.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            _ if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            _ => quoted.push(c),
        }
    }
    quoted + "\""
}
