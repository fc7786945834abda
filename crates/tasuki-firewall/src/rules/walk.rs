//! The path of a packet through the chains of nftables, and the rule that drops it.

use super::{
    Chain, Place, Ruleset,
    matching::{Match, equals, holds},
};
use serde::Serialize;
use serde_json::Value;
use std::net::Ipv4Addr;

/// Chains that jump to each other are followed so deep; the kernel allows 16.
const DEPTH_MAX: usize = 16;

/// The first packet of a connection, or a datagram that answers none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// TCP instead of UDP.
    pub tcp: bool,
    /// Source address.
    pub from: Ipv4Addr,
    /// Destination address.
    pub to: Ipv4Addr,
    /// Destination port.
    pub port: u16,
    /// The NIC by which it comes in; `None`: not known, or it comes from the host itself.
    pub comes_by: Option<String>,
    /// The NIC by which it leaves.
    pub leaves_by: Option<String>,
}

impl Packet {
    /// The protocol's name, as nftables has it.
    pub fn protocol(&self) -> &'static str {
        if self.tcp { "tcp" } else { "udp" }
    }
}

/// What drops a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Culprit {
    /// Family and name of the table, as `inet filter`.
    pub table: String,
    /// The chain that sees all packets; a rule at its beginning decides before all others.
    pub chain: String,
    /// The rule in nftables' or iptables' words, with its chain if that is another, or the chain's policy.
    pub rule: String,
    /// Whether it is certain; otherwise the rule asks for something that is not known of the packet.
    pub certain: bool,
    /// It is of iptables of the older kind, not of nftables.
    pub iptables: bool,
}

/// What a chain does with a packet.
enum Fate {
    Accepted,
    /// Back to the chain from which it came.
    Returned,
    /// The chain and the handle of the rule.
    Dropped(String, u64),
}

/// What drops this packet in a host; `None`: nothing does, as far as is known. `text` is what `nft -a list
/// ruleset` prints.
pub fn find(ruleset: &Ruleset, text: &str, place: Place, packet: &Packet) -> Option<Culprit> {
    let mut perhaps = None;
    for chain in place.hooks().iter().flat_map(|hook| ruleset.at_hook(hook)) {
        let mut walk = Walk { ruleset, text, packet, perhaps: None };
        let table = format!("{} {}", chain.family, chain.table);
        let say = |name: &str, handle: u64, certain: bool| {
            let rule = wording(text, &table, name, handle);
            let rule = if name == chain.name { rule } else { format!("{rule} (chain {name})") };
            Culprit { table: table.clone(), chain: chain.name.clone(), rule, certain, iptables: false }
        };
        match walk.through(chain, 0) {
            Fate::Dropped(name, handle) => return Some(say(&name, handle, true)),
            Fate::Returned if chain.policy.as_deref() == Some("drop") => {
                let rule = "policy drop".to_owned();
                let chain = chain.name.clone();
                return Some(Culprit { table, chain, rule, certain: true, iptables: false });
            }
            Fate::Accepted | Fate::Returned => {}
        }
        perhaps = perhaps.or(walk.perhaps.map(|(name, handle)| say(&name, handle, false)));
    }
    perhaps
}

struct Walk<'a> {
    ruleset: &'a Ruleset,
    text: &'a str,
    packet: &'a Packet,
    /// The first rule that drops the packet if it asks for what the packet has.
    perhaps: Option<(String, u64)>,
}

impl Walk<'_> {
    fn through(&mut self, chain: &Chain, depth: usize) -> Fate {
        for rule in &chain.rules {
            let mut certain = true;
            for (number, statement) in rule.statements.iter().enumerate() {
                let is_last = number + 1 == rule.statements.len();
                let step = match statement.get("xt") {
                    Some(xt) if is_last && self.rejects(xt, chain, rule.handle) => {
                        self.verdict("reject", xt, chain, rule.handle, depth, certain)
                    }
                    _ => self.statement(statement, chain, rule.handle, depth, certain),
                };
                match step {
                    Step::Next => {}
                    Step::Perhaps => certain = false,
                    Step::NextRule => break,
                    Step::End(fate) => return fate,
                }
            }
        }
        Fate::Returned
    }

    /// Whether what ends a rule of `iptables` is its target REJECT. Which target it is newer versions of nft
    /// say in JSON, and older ones in words alone.
    fn rejects(&self, xt: &Value, chain: &Chain, handle: u64) -> bool {
        match xt.get("name").and_then(Value::as_str) {
            Some(name) => name == "REJECT",
            None => {
                let table = format!("{} {}", chain.family, chain.table);
                let words = wording(self.text, &table, &chain.name, handle).to_ascii_lowercase();
                words.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "reject")
            }
        }
    }

    fn statement(
        &mut self,
        statement: &Value,
        chain: &Chain,
        handle: u64,
        depth: usize,
        certain: bool,
    ) -> Step {
        let Some((kind, value)) = statement.as_object().and_then(|object| object.iter().next()) else {
            return Step::Perhaps;
        };
        match kind.as_str() {
            "match" => match holds(value, self.packet, chain, self.ruleset) {
                Match::Yes => Step::Next,
                Match::No => Step::NextRule,
                Match::Unknown => Step::Perhaps,
            },
            "vmap" => self.map(value, chain, handle, depth, certain),
            // They ask for something that is not known of the packet, or bound a rate.
            "xt" | "limit" | "quota" | "connlimit" | "ct count" => Step::Perhaps,
            _ => self.verdict(kind, value, chain, handle, depth, certain),
        }
    }

    fn verdict(
        &mut self,
        kind: &str,
        value: &Value,
        chain: &Chain,
        handle: u64,
        depth: usize,
        certain: bool,
    ) -> Step {
        match kind {
            "drop" | "reject" if certain => Step::End(Fate::Dropped(chain.name.clone(), handle)),
            "drop" | "reject" => {
                self.perhaps.get_or_insert_with(|| (chain.name.clone(), handle));
                Step::NextRule
            }
            "accept" | "return" if !certain => Step::NextRule,
            "accept" => Step::End(Fate::Accepted),
            "return" => Step::End(Fate::Returned),
            "jump" | "goto" => self.jump(value, chain, depth, certain, kind == "goto"),
            _ => Step::Next,
        }
    }

    fn jump(&mut self, value: &Value, chain: &Chain, depth: usize, certain: bool, for_good: bool) -> Step {
        let name = value.get("target").and_then(Value::as_str).unwrap_or_default();
        let Some(target) = self.ruleset.beside(chain, name).filter(|_| depth < DEPTH_MAX) else {
            return Step::Perhaps;
        };
        match self.through(target, depth + 1) {
            Fate::Dropped(name, handle) if !certain => {
                self.perhaps.get_or_insert((name, handle));
                Step::NextRule
            }
            Fate::Accepted if !certain => Step::NextRule,
            Fate::Returned if for_good && certain => Step::End(Fate::Returned),
            Fate::Returned => Step::NextRule,
            fate => Step::End(fate),
        }
    }

    /// A map from values to verdicts.
    fn map(&mut self, value: &Value, chain: &Chain, handle: u64, depth: usize, certain: bool) -> Step {
        let Some(entries) = value.pointer("/data/set").and_then(Value::as_array) else {
            return Step::Perhaps;
        };
        for entry in entries.iter().filter_map(Value::as_array) {
            let [of, verdict] = &entry[..] else { continue };
            let matches = equals(&value["key"], of, self.packet, chain, self.ruleset);
            let Some((kind, target)) = verdict.as_object().and_then(|object| object.iter().next()) else {
                continue;
            };
            let step = match matches {
                Match::No => continue,
                Match::Yes => self.verdict(kind, target, chain, handle, depth, certain),
                Match::Unknown => self.verdict(kind, target, chain, handle, depth, false),
            };
            if let Step::End(_) = step {
                return step;
            }
        }
        Step::Next
    }
}

/// What comes after a statement.
enum Step {
    Next,
    /// The next statement, if the rule is meant for this packet.
    Perhaps,
    NextRule,
    End(Fate),
}

/// A rule in the words of `nft -a list ruleset`, where it ends in its handle.
fn wording(text: &str, table: &str, chain: &str, handle: u64) -> String {
    let begins = |line: &str, what: &str| line.trim().starts_with(&format!("{what} {{"));
    let lines = text.lines().skip_while(|line| !begins(line, &format!("table {table}")));
    let mut lines = lines.skip_while(|line| !begins(line, &format!("chain {chain}")));
    let end = format!("# handle {handle}");
    let line = lines.find(|line| line.trim_end().ends_with(&end) && !line.contains(" { #"));
    line.map_or_else(
        || format!("rule with handle {handle}"),
        |line| line.trim().replace(&format!(" {end}"), ""),
    )
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
