//! What firewalls drop between hosts, as findings.

use crate::{
    CheckError,
    finding::{Finding, Kind, Part, Report},
};
use std::collections::BTreeSet;
use tasuki_firewall::{Blocked, Cause, probe};
use tasuki_fleet::Fleet;

/// Adds to a report what firewalls of the fleet's hosts drop. Pairs of hosts that could not reach each other
/// for that reason have no finding of their own any more. What is lost on the way is left to other findings;
/// and where there are such, as of a wrong address, they are most likely the reason for what is dropped by no
/// rule that can be named.
///
/// # Errors
/// If the cluster has no plan of addresses.
pub fn add_firewalls(fleet: &Fleet, report: &mut Report) -> Result<(), CheckError> {
    let all = probe(fleet)?;
    let is_whole = !report.findings.iter().any(stops_packets);
    let is_by_firewall = |cause: &Cause| match cause {
        Cause::Rule(_) => true,
        Cause::Dropped { .. } | Cause::Unread { .. } => is_whole,
        Cause::Lost => false,
    };
    let by_firewall: Vec<&Blocked> = all.iter().filter(|one| is_by_firewall(&one.cause)).collect();
    let route = |[a, b]: &[String; 2]| [format!("{a} - {b}"), format!("{b} - {a}")];
    let pairs: BTreeSet<String> = by_firewall.iter().flat_map(|one| &one.pairs).flat_map(route).collect();
    report.findings.retain(|finding| {
        let is_explained = matches!(&finding.part, Part::Route(name) if pairs.contains(name));
        !(finding.kind == Kind::Unreachable && is_explained)
    });
    report.findings.extend(by_firewall.into_iter().map(finding));
    report.sort();
    Ok(())
}

/// Whether a finding is a fault by which packets do not arrive at all: of addresses, routes or cables. What
/// only makes them late or few is none.
fn stops_packets(finding: &Finding) -> bool {
    let is_such = match finding.kind {
        Kind::Unchecked
        | Kind::Interface
        | Kind::Dead
        | Kind::Miswired
        | Kind::Loss
        | Kind::Damage
        | Kind::Mtu
        | Kind::Address
        | Kind::DuplicateAddress
        | Kind::Loop
        | Kind::Route
        | Kind::Setting => true,
        Kind::Duplicates
        | Kind::Slow
        | Kind::Delay
        | Kind::Load
        | Kind::Bus
        | Kind::Errors
        | Kind::Firewall
        | Kind::Unreachable
        | Kind::Outlier
        | Kind::Content
        | Kind::BurnIn => false,
    };
    is_such && !finding.warning
}

fn finding(blocked: &Blocked) -> Finding {
    let advice = format!("on {}: {}", blocked.host, blocked.advice().join("\n  or "));
    let part = Part::Setting(format!("{}: firewall", blocked.host));
    let mut finding = Finding::new(2, Kind::Firewall, part, blocked.says(), advice).seen(blocked.summary());
    finding.warning = !blocked.stops_programs;
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_stop_packets_does_not_explain_why_they_are_dropped() {
        let fault = |kind| Finding::new(1, kind, Part::Host("n1".into()), "", "");
        for kind in [Kind::Load, Kind::Delay, Kind::Slow, Kind::Errors, Kind::Unreachable] {
            assert!(!stops_packets(&fault(kind)), "{kind:?}");
        }
        for kind in [Kind::Address, Kind::Route, Kind::Dead, Kind::Miswired] {
            assert!(stops_packets(&fault(kind)), "{kind:?}");
            assert!(!stops_packets(&fault(kind).as_warning()), "{kind:?}");
        }
    }
}
