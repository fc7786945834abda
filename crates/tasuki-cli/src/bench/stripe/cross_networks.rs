//! The networks of the cross-connection paper's (a) to (d) for parallel programs, with controls in which the sums of the rates are equal: what
//! they are, their labs, and what their NICs have sent.

use super::{
    bundle::{self, Wanted},
    cross::{BONDED, BRIDGE, STRIPED, WIRE, driver},
};
use crate::{args::BenchCross, bench::LabNetwork, failure::Failure, shape};
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write, thread, time::Duration};
use tasuki_bench::{nas::cross, stripe::Way};
use tasuki_cluster::{
    HostId, Rail, Rate, Striping,
    generate::{Options, Shape},
};
use tasuki_lab::LabOptions;
use tasuki_process::run_limited;

/// How long a host may take to tell what its NICs have counted.
const COUNT_LIMIT: Duration = Duration::from_secs(20);

/// Bytes by host and NIC.
type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// One of the networks.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// What it is called.
    pub network: &'static str,
    /// What carries the frames, exactly.
    driver: String,
    way: Way,
    /// Cables between two hosts; 0: all are on one switch.
    cables: usize,
    rate_bps: u64,
    /// Interrupt delay, 0 for none.
    delay_us: u32,
    /// What the programs sent, by host and NIC, all headers included.
    sent_bytes: Counts,
}

/// All networks, up, and set up.
pub struct Networks {
    /// What they are.
    pub settings: Vec<Setting>,
    /// Their labs, in the same order.
    pub labs: Vec<LabNetwork>,
}

impl Networks {
    /// Builds them. They end with this value.
    pub fn up(arguments: &BenchCross) -> Result<Self, Failure> {
        let mut settings = settings(arguments);
        let labs = settings.iter().map(|setting| lab(setting, arguments)).collect::<Result<Vec<_>, _>>()?;
        for (setting, network) in settings.iter_mut().zip(&labs) {
            setting.sent_bytes = sent(network)?;
        }
        Ok(Self { settings, labs })
    }

    /// Counts what has been sent since they came up. Returned is, in words, how it was spread over two cables.
    pub fn count(&mut self) -> Result<String, Failure> {
        let mut shares = String::new();
        for (setting, network) in self.settings.iter_mut().zip(&self.labs) {
            let before = std::mem::replace(&mut setting.sent_bytes, sent(network)?);
            subtract(&mut setting.sent_bytes, &before);
            if let Some((least, most)) = share_of_cables(network, &setting.sent_bytes) {
                // Writing into a text cannot fail.
                let _ = writeln!(
                    shares,
                    "{}: each of two cables carried {least:.0} to {most:.0} % of what a host sent to another",
                    setting.network
                );
            }
        }
        Ok(shares)
    }
}

/// The paper's four, Tasuki beside its bonding, and controls in which the sum of a host's rates is that of the network before.
fn settings(arguments: &BenchCross) -> Vec<Setting> {
    let rate = arguments.rate.bits_per_second;
    let others = u64::from(arguments.hosts) - 1;
    let setting = |network, path: &str, way, cables, rate_bps, delay_us| Setting {
        network,
        driver: driver(path, delay_us),
        way,
        cables,
        rate_bps,
        delay_us,
        sent_bytes: Counts::new(),
    };
    let delay = arguments.delay;
    let mut all = vec![
        setting(cross::SWITCH, BRIDGE, Way::One, 0, rate, delay),
        setting(cross::CABLES, WIRE, Way::One, 1, rate, delay),
        setting(cross::CABLES_CONTROL, WIRE, Way::One, 1, rate / others, delay),
        setting(cross::DELAY_OFF, WIRE, Way::One, 1, rate, 0),
        setting(cross::BONDED, BONDED, Way::BondOneMac, 2, rate, 0),
        setting(cross::STRIPED, STRIPED, Way::ShortestDelay, 2, rate, 0),
        setting(cross::BONDED_CONTROL, BONDED, Way::BondOneMac, 2, rate / 2, 0),
    ];
    // Two hosts have one cable: it has the switch's rate anyway.
    all.retain(|setting| others > 1 || setting.network != cross::CABLES_CONTROL);
    all
}

/// A lab of this network, set up. It ends with this value.
fn lab(setting: &Setting, arguments: &BenchCross) -> Result<LabNetwork, Failure> {
    let hosts = arguments.hosts as usize;
    let (shape, nics) = match setting.cables {
        0 => (Shape::Star { hosts }, 1),
        cables => (Shape::Full { hosts }, cables * (hosts - 1)),
    };
    let rate = Rate { bits_per_second: setting.rate_bps };
    let options =
        Options { rate, mtu: arguments.mtu, nics_per_cable: setting.cables.max(1), ..Options::default() };
    let mut cluster = shape::cluster(None, Some(&shape), &options)?;
    // With it the lab has the settings that striping needs; the table is replaced.
    cluster.striping = (setting.cables > 1).then(Striping::default);
    let letters: String = setting.network.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut options = LabOptions::named(format!("cross-{letters}"));
    options.rate = Some(rate);
    let network = LabNetwork::own(setting.network, cluster, options)?;
    let wanted = Wanted { way: setting.way, nics, granularity: None, delay_us: Some(setting.delay_us) };
    bundle::make(&network, wanted, |host| core(host, hosts))?;
    Ok(network)
}

/// The processor that receives what comes to a host: its own, if it has one. Where hosts share processors, none: then the one that sent it.
fn core(host: usize, hosts: usize) -> Option<usize> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (hosts <= cores).then_some(cores * host / hosts)
}

/// What all NICs have sent, in bytes.
fn sent(network: &LabNetwork) -> Result<Counts, Failure> {
    let hosts = network.cluster.hosts.iter().enumerate();
    hosts.map(|(number, host)| Ok((host.name.clone(), sent_by(network, number)?))).collect()
}

fn sent_by(network: &LabNetwork, number: usize) -> Result<BTreeMap<String, u64>, Failure> {
    let host = &network.cluster.hosts[number];
    let names = || host.nics.iter().map(|nic| nic.name.clone());
    let files = names().map(|name| format!("/sys/class/net/{name}/statistics/tx_bytes").into());
    let words = std::iter::once("/bin/cat".into()).chain(files);
    let output = run_limited(&mut network.command(HostId(number), words), COUNT_LIMIT)?;
    let counts: Vec<u64> = output.stdout.lines().filter_map(|line| line.trim().parse().ok()).collect();
    if !output.is_success() || counts.len() != host.nics.len() {
        let said = output.stderr_tail(3);
        return Err(Failure::new(format!(
            "cannot count what {} sent: {}: {said}",
            host.name,
            output.reason()
        )));
    }
    Ok(names().zip(counts).collect())
}

fn subtract(counts: &mut Counts, before: &Counts) {
    for (host, nics) in counts {
        for (nic, bytes) in nics {
            let earlier = before.get(host).and_then(|nics| nics.get(nic)).copied().unwrap_or(0);
            *bytes = bytes.saturating_sub(earlier);
        }
    }
}

/// The least and the most that a cable carried of what one host sent to another, per cent; `None` where there is one cable, or nothing was
/// sent.
fn share_of_cables(network: &LabNetwork, sent: &Counts) -> Option<(f64, f64)> {
    let cluster = &network.cluster;
    let hosts = || (0..cluster.hosts.len()).map(HostId);
    let mut shares = Vec::new();
    for (own, other) in hosts().flat_map(|own| hosts().map(move |other| (own, other))) {
        let direct = cluster.rails(own, other).into_iter().filter(Rail::is_direct);
        let nics = direct.map(|rail| &cluster.nic_of(rail.nics[0]).name);
        let of_host = sent.get(&cluster.host_of(own).name)?;
        let bytes: Vec<f64> = nics.filter_map(|nic| of_host.get(nic)).map(|bytes| *bytes as f64).collect();
        let sum: f64 = bytes.iter().sum();
        if bytes.len() > 1 && sum > 0.0 {
            shares.extend(bytes.iter().map(|bytes| 100.0 * bytes / sum));
        }
    }
    shares.into_iter().map(|share| (share, share)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// What the networks are.
pub fn titles(settings: &[Setting], arguments: &BenchCross) -> String {
    let mut text = format!("{} hosts, a rank on each\n", arguments.hosts);
    for Setting { network, driver, cables, rate_bps, .. } in settings {
        let what = match cables {
            0 => "a NIC per host",
            1 => "a cable between any two hosts",
            _ => "two cables between any two hosts",
        };
        let rate = *rate_bps as f64 / 1e6;
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{network:<14} {what} at {rate:.1} Mbit/s; {driver}");
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        cross: BenchCross,
    }

    /// The command with these words, or what it says to them.
    pub fn parse(words: &str) -> Result<BenchCross, String> {
        let words = std::iter::once("cross").chain(words.split_whitespace());
        Line::try_parse_from(words).map(|line| line.cross).map_err(|error| error.to_string())
    }

    #[test]
    fn controls_have_the_sum_of_the_rates_of_what_they_control() {
        for (hosts, others) in [(2, 1), (4, 3), (8, 7)] {
            let line = parse(&format!("--rate 210M --kernel is --hosts {hosts}")).expect("parses");
            let settings = settings(&line);
            let of = |network: &str| settings.iter().find(|setting| setting.network == network);
            // All rates of a host's NICs.
            let sum = |network: &str| {
                let setting = of(network).expect("a setting");
                setting.rate_bps * (setting.cables as u64 * others).max(1)
            };
            assert_eq!(sum(cross::SWITCH), 210_000_000);
            assert_eq!(sum(cross::CABLES), others * 210_000_000);
            assert_eq!(sum(cross::BONDED), 2 * sum(cross::DELAY_OFF));
            assert_eq!(sum(cross::BONDED_CONTROL), sum(cross::DELAY_OFF));
            match others {
                1 => assert!(of(cross::CABLES_CONTROL).is_none()),
                _ => assert_eq!(sum(cross::CABLES_CONTROL), sum(cross::SWITCH)),
            }
        }
    }

    #[test]
    fn a_step_changes_one_thing() {
        let settings = settings(&parse("--kernel is").expect("parses"));
        for setting in &settings {
            let Some(before) = cross::step_before(setting.network) else { continue };
            let before = settings.iter().find(|it| it.network == before).expect("it is measured, too");
            let cabling = (setting.cables, setting.way) != (before.cables, before.way);
            let delay = setting.delay_us != before.delay_us;
            assert!(cabling != delay, "{}", setting.network);
        }
    }
}
