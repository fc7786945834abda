//! The table `[[switch]]` of a cluster file.

use super::{
    document::{read_checked, read_name},
    fields::{Fields, Value},
    problem::Problem,
    report::{Findings, Span},
};
use crate::{AgentAddress, InterfaceNames, Rate, Switch, SwitchAgent, names::check_label, ssh::BadSsh};
use serde_spanned::Spanned;
use std::{ops::RangeInclusive, path::PathBuf};

/// Ports of one switch.
const PORTS: RangeInclusive<u32> = 1..=65_535;
/// Keys that say how the agent at `management` is asked.
const OF_AN_AGENT: [&str; 2] = ["community_file", "interfaces"];

pub(super) fn read_switch(
    value: &Value<'_>,
    default_rate: Rate,
    findings: &Findings,
) -> Option<(Switch, Span)> {
    let known = ["name", "ports", "rate", "management", "community_file", "interfaces"];
    let fields = Fields::of(value, "switch", &known, findings)?;
    let (name, span) = read_name(&fields, "switch", check_label);
    if fields.get("ports").is_none() {
        fields.missing("ports");
    }
    // If the number cannot be read, all ports are allowed, so that not every cable is an error.
    let ports = fields.count("ports", PORTS).map_or(*PORTS.end(), Spanned::into_inner);
    let rate = fields.rate("rate").unwrap_or(default_rate);
    let agent = read_agent(&fields);
    Some((Switch { name, ports, rate, agent }, span))
}

/// Reads how the switch is asked by SNMP.
fn read_agent(fields: &Fields<'_, '_>) -> Option<SwitchAgent> {
    let address = "an address in quotes, as \"192.168.1.2\"";
    let address = read_checked(fields, "management", address, AgentAddress::parse);
    let community_file = read_checked(fields, "community_file", "a name in quotes", beside);
    let names = "names with {} for the port, as \"Gi1/0/{}\"";
    let interfaces = read_checked(fields, "interfaces", names, InterfaceNames::parse);
    if fields.get("management").is_none() {
        for (key, value) in OF_AN_AGENT.into_iter().filter_map(|key| Some((key, fields.get(key)?))) {
            let reason = "the switch has no `management` at which it could be asked".into();
            let advice = "add management = \"ADDRESS\", or leave the key out";
            fields.note(value.span(), key, Problem::BadSsh { reason, advice });
        }
    }
    Some(SwitchAgent { address: address?, community_file, interfaces })
}

/// The name of a file in the folder of the cluster file. A path would let a cluster file that comes from
/// another person send a line of any file to any address.
fn beside(text: &str) -> Result<PathBuf, BadSsh> {
    let advice = "write the name of a file beside the cluster file, whose first line is the community";
    let wrong = |reason: String| Err(BadSsh { reason, advice });
    if text.is_empty() {
        return wrong("the name is empty".into());
    }
    if let Some(control) = text.chars().find(|c| c.is_control()) {
        return wrong(format!("the name has the control character {control:?}"));
    }
    if text.contains('/') || text.starts_with('.') {
        return wrong(format!("{text:?} may lead out of the folder of the cluster file"));
    }
    Ok(text.into())
}
