//! Findings about what firewalls drop between hosts.

use crate::Finding;
use tasuki_firewall::{Blocked, Cause};

/// The finding about something that does not get from host to host.
pub fn finding(blocked: &Blocked) -> Finding {
    let what = format!("{}: {}", blocked.says(), blocked.summary());
    let remedy = match (&blocked.cause, blocked.advice()) {
        (Cause::Lost, _) => "tasuki check names the cable; `ip route get ADDRESS` the route".to_owned(),
        (_, advice) => format!("on {}: {}", blocked.host, advice.join("\n")),
    };
    match blocked.stops_programs {
        true => Finding::broken(&blocked.host, what, remedy),
        false => Finding::slower(&blocked.host, what, remedy),
    }
}
