//! What the planner would cable differently on hosts that are cabled already.

use crate::{
    Best, Inventory, OwnSwitch, PlanningError, Proposal, Ranked, compare_ranked, digits, proposals, rank,
};
use std::fmt::Write;
use tasuki_cluster::{Cluster, DEFAULT_RATE};

/// Larger clusters take the planner longer than somebody waits who has asked for something else.
const HOSTS_MAX: usize = 32;
/// What another cabling gains at least, as a factor, to be worth a sentence.
const GAIN_MIN: f64 = 1.05;

/// What the planner would cable differently, and what that gains; `None`: nothing that is worth it, or hosts
/// whose ports differ in number, for which it has no plan.
///
/// # Errors
/// If the cluster is no network.
pub fn advice(cluster: &Cluster) -> Result<Option<String>, PlanningError> {
    let hosts = cluster.hosts.len();
    let nics = cluster.hosts.first().map_or(0, |host| host.nics.len());
    let is_alike = cluster.hosts.iter().all(|host| host.nics.len() == nics);
    if !is_alike || nics == 0 || !(2..=HOSTS_MAX).contains(&hosts) {
        return Ok(None);
    }
    let Some(rate) = cluster.hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.rate).min() else {
        return Ok(None);
    };
    let switches = cluster.switches.iter();
    let switches = switches.map(|switch| OwnSwitch { ports: switch.ports, rate: Some(switch.rate) });
    let inventory = Inventory { switches: switches.collect(), rate, ..Inventory::new(hosts, nics) };
    let as_it_is = Proposal { what: "as it is".into(), why: "", cluster: cluster.clone(), moves: None };
    let now = rank(as_it_is, &inventory, &mut |_| ())?;
    let Ok(all) = proposals(&inventory) else { return Ok(None) };
    let ranked = all.into_iter().map(|proposal| rank(proposal, &inventory, &mut |_| ()));
    let ranked: Vec<Ranked> = ranked.collect::<Result<_, _>>()?;
    let best = ranked.into_iter().min_by(|a, b| compare_ranked(a, b, Best::Bandwidth));
    Ok(best.and_then(|best| sentence(&now, &best, &inventory)))
}

/// The command that shows the cablings of these hosts.
fn command(inventory: &Inventory) -> String {
    let Inventory { hosts, nics, rate, switches, .. } = inventory;
    let mut command = format!("tasuki plan --hosts {hosts} --nics {nics}");
    // `plan` takes switches of two ports and more. Writing into a string cannot fail.
    for switch in switches.iter().filter(|switch| switch.ports > 1) {
        let _ = write!(command, " --switch {}", switch.ports);
        let own = switch.rate.filter(|own| own != rate);
        let _ = own.map_or(Ok(()), |own| write!(command, "@{own}"));
    }
    if *rate != DEFAULT_RATE {
        let _ = write!(command, " --rate {rate}");
    }
    command
}

fn sentence(now: &Ranked, best: &Ranked, inventory: &Inventory) -> Option<String> {
    let (is, could) = (now.all_to_all_bits_per_second, best.all_to_all_bits_per_second);
    if could < is * GAIN_MIN {
        return None;
    }
    let passed = |ranked: &Ranked| ranked.measures.average_distance.map_or("?".into(), digits);
    Some(format!(
        "The planner would cable these hosts otherwise ({}): all to all {} instead of {} Gbit/s a host, {} \
         instead of {} switches or relays between two hosts; {}",
        best.what,
        digits(could / 1e9),
        digits(is / 1e9),
        passed(best),
        passed(now),
        command(inventory)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, generate};

    fn advice_for(shape: &str) -> Option<String> {
        advice(&generate(&shape.parse().unwrap(), &Options::default()).unwrap()).unwrap()
    }

    #[test]
    fn only_what_gains_something_is_advised() {
        assert_eq!(advice_for("full:4"), None, "there is nothing better");
        // Four hosts in a ring of parallel cables: a cable to every other host carries more.
        let ring = generate(&"ring:4".parse().unwrap(), &Options::default()).unwrap();
        let mut double = ring.clone();
        for host in &mut double.hosts {
            let spare = tasuki_cluster::Nic { name: "eth9".into(), mac: None, ..host.nics[0].clone() };
            host.nics.push(spare);
        }
        let said = advice(&double).unwrap().expect("a spare port in each host gains");
        assert!(said.contains("instead of") && said.contains("--hosts 4 --nics 3"), "{said}");
    }

    /// The command is one that shows what is said: cables beside the switch that is there, at these rates.
    #[test]
    fn the_command_has_the_switches_and_the_rate_of_the_hosts() {
        let rate = "2.5G".parse().unwrap();
        let options = Options { rate, ..Options::default() };
        let mut cluster = generate(&"star:4".parse().unwrap(), &options).unwrap();
        cluster.switches[0].rate = "10G".parse().unwrap();
        for host in &mut cluster.hosts {
            for spare in ["eth7", "eth8", "eth9"] {
                let spare = tasuki_cluster::Nic { name: spare.into(), ..host.nics[0].clone() };
                host.nics.push(spare);
            }
        }
        let said = advice(&cluster).unwrap().expect("cables beside the switch gain");
        assert!(said.ends_with("tasuki plan --hosts 4 --nics 4 --switch 4@10G --rate 2.5G"), "{said}");
    }
}
