//! The networks of (a) to (d) for parallel programs, with controls in which the sums of the rates are equal:
//! what they are, their labs, and what their NICs have sent.

use super::{BONDED, BRIDGE, STRIPED, WIRE, driver, kernels::CrossKernels};
use crate::{
    BenchError,
    lab::{
        LabBuilder, Testbed,
        stripe::{Wanted, set_up_bundles},
    },
    nas::cross,
    stripe::Spreading,
};
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write, thread, time::Duration};
use tasuki_cluster::{
    HostId, Rail, Rate, Striping,
    generate::{Options, Shape, generate},
};
use tasuki_lab::LabOptions;
use tasuki_process::run_limited;

/// Longest time for a host to tell what its NICs have counted.
const COUNT_LIMIT: Duration = Duration::from_secs(20);

/// Bytes by host and NIC.
type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// One of the networks.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Setting {
    /// Its name.
    pub network: &'static str,
    /// What carries the frames, exactly.
    driver: String,
    spreading: Spreading,
    /// Cables between two hosts; 0: all are on one switch.
    cables: usize,
    rate_bps: u64,
    /// Interrupt delay, 0 for none.
    delay_us: u32,
    /// What the programs sent, by host and NIC, all headers included.
    sent_bytes: Counts,
}

/// All networks, up, and set up.
pub(super) struct Networks {
    /// What they are.
    pub settings: Vec<Setting>,
    /// Their labs, in the same order.
    pub labs: Vec<Testbed>,
}

impl Networks {
    /// Builds them. They end with this value.
    pub fn up(options: &CrossKernels, builder: &dyn LabBuilder) -> Result<Self, BenchError> {
        let mut settings = settings(options);
        let labs = settings.iter().map(|setting| lab(setting, options, builder));
        let labs = labs.collect::<Result<Vec<_>, _>>()?;
        for (setting, network) in settings.iter_mut().zip(&labs) {
            setting.sent_bytes = sent(network)?;
        }
        Ok(Self { settings, labs })
    }

    /// Counts what has been sent since they came up. Returned is, in words, how it was spread over two
    /// cables, and of which networks nobody knows.
    pub fn count(&mut self) -> String {
        let mut shares = String::new();
        for (setting, network) in self.settings.iter_mut().zip(&self.labs) {
            shares += &setting.count(sent(network));
            if let Some((least, most)) = share_of_cables(network, &setting.sent_bytes) {
                // Writing into a text cannot fail.
                let _ = writeln!(
                    shares,
                    "{}: each of two cables carried {least:.0} to {most:.0} % of what a host sent to another",
                    setting.network
                );
            }
        }
        shares
    }
}

impl Setting {
    /// Makes of the counters at the beginning what was sent until the counters were read again. If they
    /// could not be read, nothing is known of it, which the text says: figures do not depend on it.
    fn count(&mut self, now: Result<Counts, BenchError>) -> String {
        let before = std::mem::take(&mut self.sent_bytes);
        match now {
            Ok(now) => self.sent_bytes = now,
            Err(error) => return format!("note: {}: {error}\n", self.network),
        }
        subtract(&mut self.sent_bytes, &before);
        String::new()
    }
}

/// The paper's four, Tasuki beside its bonding, and controls in which the sum of a host's rates is that of
/// the network before.
fn settings(options: &CrossKernels) -> Vec<Setting> {
    let rate = options.rate.bits_per_second;
    let others = u64::from(options.hosts) - 1;
    let setting = |network, path: &str, spreading, cables, rate_bps, delay_us| Setting {
        network,
        driver: driver(path, delay_us),
        spreading,
        cables,
        rate_bps,
        delay_us,
        sent_bytes: Counts::new(),
    };
    let delay = options.delay_us;
    let mut all = vec![
        setting(cross::SWITCH, BRIDGE, Spreading::One, 0, rate, delay),
        setting(cross::CABLES, WIRE, Spreading::One, 1, rate, delay),
        setting(cross::CABLES_CONTROL, WIRE, Spreading::One, 1, rate / others, delay),
        setting(cross::DELAY_OFF, WIRE, Spreading::One, 1, rate, 0),
        setting(cross::BONDED, BONDED, Spreading::BondOneMac, 2, rate, 0),
        setting(cross::STRIPED, STRIPED, Spreading::ShortestDelay, 2, rate, 0),
        setting(cross::BONDED_CONTROL, BONDED, Spreading::BondOneMac, 2, rate / 2, 0),
    ];
    // Two hosts have one cable between them, which has the switch's rate without a control.
    all.retain(|setting| others > 1 || setting.network != cross::CABLES_CONTROL);
    all.retain(|setting| options.wants(setting.network));
    all
}

/// A lab of this network, set up. It ends with this value.
fn lab(setting: &Setting, options: &CrossKernels, builder: &dyn LabBuilder) -> Result<Testbed, BenchError> {
    let hosts = options.hosts as usize;
    let (shape, nics) = match setting.cables {
        0 => (Shape::Star { hosts }, 1),
        cables => (Shape::Full { hosts }, cables * (hosts - 1)),
    };
    let rate = Rate { bits_per_second: setting.rate_bps };
    let generated =
        Options { rate, mtu: options.mtu, nics_per_cable: setting.cables.max(1), ..Options::default() };
    let mut cluster = generate(&shape, &generated)?;
    // Striping makes the lab have the settings that it needs; its table is replaced.
    cluster.striping = (setting.cables > 1).then(Striping::default);
    let letters: String = setting.network.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut lab = LabOptions::named(format!("cross-{letters}"));
    lab.rate = Some(rate);
    let network = builder.build(setting.network, cluster, lab)?;
    let wanted =
        Wanted { spreading: setting.spreading, nics, granularity: None, delay_us: Some(setting.delay_us) };
    set_up_bundles(&network, wanted, |host| processor(host, hosts))?;
    Ok(network)
}

/// The processor that receives what comes to a host: its own, if it has one. `None` where hosts share
/// processors: then the processor that sent a frame receives it.
fn processor(host: usize, hosts: usize) -> Option<usize> {
    let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (hosts <= processors).then_some(processors * host / hosts)
}

/// What all NICs have sent, in bytes.
fn sent(network: &Testbed) -> Result<Counts, BenchError> {
    let hosts = network.cluster.hosts.iter().enumerate();
    hosts.map(|(number, host)| Ok((host.name.clone(), sent_by(network, number)?))).collect()
}

fn sent_by(network: &Testbed, number: usize) -> Result<BTreeMap<String, u64>, BenchError> {
    let host = &network.cluster.hosts[number];
    let names = || host.nics.iter().map(|nic| nic.name.clone());
    let files = names().map(|name| format!("/sys/class/net/{name}/statistics/tx_bytes"));
    let words = std::iter::once("/bin/cat".to_owned()).chain(files);
    let output = run_limited(&mut network.command(HostId(number), words), COUNT_LIMIT)?;
    let counts: Vec<u64> = output.stdout.lines().filter_map(|line| line.trim().parse().ok()).collect();
    if !output.is_success() || counts.len() != host.nics.len() {
        let said = output.stderr_tail(3);
        return Err(BenchError::refused(format!(
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

/// The least and the most that a cable carried of what one host sent to another, per cent; `None` where there
/// is one cable, or nothing was sent.
fn share_of_cables(network: &Testbed, sent: &Counts) -> Option<(f64, f64)> {
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

/// What the networks are, a line each.
pub(super) fn titles(settings: &[Setting], hosts: u32) -> String {
    let mut text = format!("{hosts} hosts, a rank on each\n");
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
mod tests {
    use super::*;

    fn options(rate: &str, hosts: u32) -> CrossKernels {
        let (rate, limit) = (rate.parse().expect("a rate"), Duration::from_secs(1));
        let (networks, classes) = (Vec::new(), Vec::new());
        CrossKernels { rate, delay_us: 125, mtu: 1500, hosts, networks, classes, repetitions: 1, limit }
    }

    #[test]
    fn controls_have_the_sum_of_the_rates_of_what_they_control() {
        for (hosts, others) in [(2, 1), (4, 3), (8, 7)] {
            let settings = settings(&options("210M", hosts));
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
    fn networks_are_chosen_by_their_letters() {
        let names = |networks: &[&str], hosts| -> Vec<&str> {
            let networks = networks.iter().map(ToString::to_string).collect();
            let options = CrossKernels { networks, ..options("1G", hosts) };
            assert!(options.check(&[]).is_ok());
            settings(&options).iter().map(|setting| setting.network).collect()
        };
        assert_eq!(names(&["d", "c"], 2), ["(c) delay off", "(d) bonded"]);
        assert_eq!(names(&["a", "d-striped"], 4), ["(a) switch", "(d') striped"]);
        assert_eq!((names(&[], 4).len(), names(&[], 2).len()), (7, 6));
        for (network, hosts) in [("e", 4), ("b-control", 2)] {
            let networks = vec![network.to_owned()];
            assert!(CrossKernels { networks, ..options("1G", hosts) }.check(&[]).is_err(), "{network}");
        }
    }

    #[test]
    fn counters_that_cannot_be_read_are_a_note() {
        let counts = |bytes| Counts::from([("a".to_owned(), BTreeMap::from([("eth0".to_owned(), bytes)]))]);
        let mut setting = settings(&options("1G", 2)).remove(0);
        setting.sent_bytes = counts(70);
        assert_eq!(setting.count(Ok(counts(100))), "");
        assert_eq!(setting.sent_bytes, counts(30));
        let said = setting.count(Err(BenchError::refused("cannot count what host a sent")));
        assert!(said.contains("(a) switch: cannot count what host a sent"), "{said}");
        assert!(setting.sent_bytes.is_empty(), "the counters of the beginning are not what was sent");
    }

    #[test]
    fn a_step_changes_one_thing() {
        let settings = settings(&options("1G", 4));
        for setting in &settings {
            let Some(before) = cross::step_before(setting.network) else { continue };
            let before = settings.iter().find(|it| it.network == before).expect("it is measured, too");
            let cabling = (setting.cables, setting.spreading) != (before.cables, before.spreading);
            let delay = setting.delay_us != before.delay_us;
            assert!(cabling != delay, "{}", setting.network);
        }
    }
}
