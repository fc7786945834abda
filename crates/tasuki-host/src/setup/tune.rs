//! Setting the receive-interrupt delay of NICs.

use super::{Mode, Report, Setup, Steps, hold::hold};
use crate::{
    Change, Delay, DelayLook, HostError, Key, Means, MeansLook, Record, Value,
    delay::{
        has_module_parameter, module_file, numbers_its_modes, of_coalescing, of_napi, to_coalescing, to_napi,
    },
    difference::difference,
};

/// A delay that a NIC is to have.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The NIC.
    pub interface: String,
    /// The delay.
    pub delay: Delay,
    /// The means; `None`: the best that the NIC has and that accepts the delay.
    pub means: Option<Means>,
}

impl Setup {
    /// The interrupt delay of a NIC, and the means by which it can be set. Changes nothing.
    pub fn delay_of(&mut self, interface: &str) -> Result<DelayLook, HostError> {
        self.kernel.link(interface)?;
        let driver = self.kernel.driver(interface).unwrap_or_default();
        let means = vec![
            self.look_at_coalescing(interface, &driver)?,
            self.look_at_napi(interface, &driver)?,
            look_at_module(&driver),
        ];
        Ok(DelayLook { interface: interface.into(), driver, means })
    }

    /// The interfaces of a driver.
    pub fn interfaces_of(&self, driver: &str) -> Vec<String> {
        self.kernel.interfaces_of(driver)
    }

    fn look_at_coalescing(&mut self, interface: &str, driver: &str) -> Result<MeansLook, HostError> {
        let value = self.kernel.read(&coalescing(interface))?;
        let Value::Coalescing(value) = value else {
            let obstacle = match driver {
                "" => "it has no driver with an interrupt delay".to_owned(),
                _ => format!("the driver ({driver}) has no interrupt delay for ethtool"),
            };
            return Ok(without(Means::Ethtool, obstacle));
        };
        let delay = Some(of_coalescing(driver, value));
        Ok(MeansLook { means: Means::Ethtool, delay, setting: value.to_string(), obstacle: None })
    }

    fn look_at_napi(&mut self, interface: &str, driver: &str) -> Result<MeansLook, HostError> {
        let value = self.kernel.read(&napi(interface))?;
        let Value::NapiDelay(value) = value else {
            return Ok(without(Means::Napi, "this kernel has no napi_defer_hard_irqs (Linux 5.9)".into()));
        };
        let polls = match self.kernel.napi_instances(interface)? {
            Some(instances) => !instances.is_empty(),
            // Where the kernel does not tell, it is known of some drivers.
            None => match driver {
                "veth" => self.kernel.has_feature(interface, "rx-gro")?,
                "dummy" | "bridge" | "tun" | "" => false,
                _ => true,
            },
        };
        let delay = Some(of_napi(&value));
        let obstacle = match (polls, driver) {
            (true, _) => None,
            (_, "veth") => Some(format!(
                "a veth interface polls only with GRO on: `ethtool -K {interface} gro on`, and `tso off gso \
                 off` on its peer"
            )),
            (_, "") => Some("it has no driver that polls".into()),
            _ => Some(format!("its driver ({driver}) does not poll, or the interface is down")),
        };
        Ok(MeansLook { means: Means::Napi, delay, setting: value.to_string(), obstacle })
    }

    /// Sets the delays of NICs, or reports what that would take; each by the best means that accepts it. The
    /// record is on the disk before every change.
    pub fn tune(&mut self, wishes: &[Wish], steps: Steps) -> Result<Report, HostError> {
        let mut report = Report { host: self.host.clone(), ..Report::default() };
        let mut looks = Vec::new();
        for wish in wishes {
            match self.delay_of(&wish.interface) {
                Ok(look) => looks.push(look),
                Err(error) => report.problems.push(error.to_string()),
            }
        }
        if !report.problems.is_empty() {
            self.tidy_up()?;
            return Ok(report);
        }
        let mut record = self.record()?;
        steps(0);
        for (number, (wish, look)) in wishes.iter().zip(&looks).enumerate() {
            self.tune_one(wish, look, &mut record, &mut report)?;
            steps(number + 1);
        }
        if self.mode == Mode::Change {
            // This is done also if nothing was changed: the NIC may have another delay than its driver
            // reports.
            let may_be = |wish: &&Wish| wish.means.is_none_or(|means| means == Means::Ethtool);
            let kept: Vec<_> = wishes.iter().filter(may_be).map(|wish| wish.interface.as_str()).collect();
            hold(&mut self.kernel, &kept, &mut report)?;
        }
        if self.mode == Mode::Change && !record.is_empty() {
            record.settle(&[]);
            self.journal.save(&record)?;
        }
        if record.is_empty() && self.mode != Mode::Show {
            self.journal.remove()?;
        }
        report.done = self.mode == Mode::Change && report.problems.is_empty();
        Ok(report)
    }

    /// Sets the delays that a cluster file has for NICs, or reports what that would take. A NIC that had a
    /// delay of an earlier file and has none any more gets back what it had before. Whether a NIC that is
    /// down can have its delay is known only once it is up: unless changes are made now, that is noted.
    pub fn keep_delays(&mut self, wishes: &[Wish], steps: Steps) -> Result<Report, HostError> {
        let back = self.take_back(wishes)?;
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for wish in wishes {
            let is_up = self.kernel.link(&wish.interface).map(|link| link.up);
            match is_up {
                _ if self.mode == Mode::Change => now.push(wish.clone()),
                Ok(true) => now.push(wish.clone()),
                Ok(false) if self.delay_of(&wish.interface)?.best().is_some() => now.push(wish.clone()),
                Ok(false) => later.push(format!("{}: {} once it is up", wish.interface, wish.delay)),
                // That the NIC does not exist is reported elsewhere.
                Err(_) => {}
            }
        }
        let mut report = self.tune(&now, steps)?;
        if report.changes.is_empty() {
            report.notes.clear();
        }
        report.notes.extend(later);
        report.changes.splice(0..0, back);
        Ok(report)
    }

    /// Restores NICs that are in the record and not among these.
    fn take_back(&mut self, wishes: &[Wish]) -> Result<Vec<Change>, HostError> {
        let mut record = self.record()?;
        let is_wished = |key: &Key| wishes.iter().any(|wish| key.interface() == Some(&wish.interface));
        let stale: Vec<_> = record.changes.iter().filter(|change| !is_wished(&change.key)).cloned().collect();
        let actual = self.kernel.read_all(stale.iter().map(|change| &change.key))?;
        let changes = difference(&[], &actual, &stale);
        if self.mode == Mode::Change && !stale.is_empty() {
            for change in &changes {
                self.kernel.write(&change.key, &change.to)?;
            }
            record.changes.retain(|change| is_wished(&change.key));
            record.rounded.retain(|change| is_wished(&change.key));
            self.journal.save(&record)?;
        }
        Ok(changes)
    }

    /// Records the state of keys that will be changed later, and returns it.
    pub(crate) fn guard_delays(&mut self, keys: &[Key]) -> Result<Vec<Value>, HostError> {
        let now = keys.iter().map(|key| self.kernel.read(key)).collect::<Result<Vec<_>, _>>()?;
        let mut record = self.record()?;
        record.guard(keys.iter().cloned().zip(now.iter().cloned()));
        self.journal.save(&record)?;
        Ok(now)
    }

    /// Removes from the record the keys that have their old value again. An empty record is removed.
    pub(crate) fn settle_delays(&mut self) -> Result<(), HostError> {
        let mut record = self.record()?;
        let actual = self.kernel.read_all(record.changes.iter().map(|change| &change.key))?;
        record.changes.retain(|change| actual.get(&change.key).is_some_and(|now| *now != change.from));
        for change in &mut record.changes {
            if let Some(now) = actual.get(&change.key) {
                change.to = now.clone();
            }
        }
        match record.changes.is_empty() {
            true => self.journal.remove(),
            false => self.journal.save(&record),
        }
    }

    fn record(&self) -> Result<Record, HostError> {
        let loaded = self.journal.load()?;
        Ok(loaded.map_or_else(|| Record::new(&self.host, "tune"), |(record, _)| record))
    }

    fn tune_one(
        &mut self,
        wish: &Wish,
        look: &DelayLook,
        record: &mut Record,
        report: &mut Report,
    ) -> Result<(), HostError> {
        let Wish { interface, delay, means: asked } = wish;
        let mut why_not = Vec::new();
        for candidate in &look.means {
            let means = candidate.means;
            if asked.map_or(means == Means::Module, |asked| asked != means) {
                continue;
            }
            if let Some(obstacle) = &candidate.obstacle {
                why_not.push(format!("{means}: {obstacle}"));
                continue;
            }
            let desired = match self.desired(look, means, *delay)? {
                Ok(desired) => desired,
                Err(why) => {
                    why_not.push(format!("{means}: {why}"));
                    continue;
                }
            };
            let changes = self.delay_changes(interface, &desired, record)?;
            if self.mode != Mode::Change {
                report.notes.push(chosen(interface, *delay, means, &why_not));
                report.changes.extend(changes);
                return Ok(());
            }
            match self.try_changes(&changes, record)? {
                Ok(as_read) => {
                    report.notes.push(chosen(interface, *delay, means, &why_not));
                    report.notes.extend(rounded(interface, &changes, &as_read));
                    report.changes.extend(as_read);
                    return Ok(());
                }
                Err(why) => why_not.push(format!("{means}: {why}")),
            }
        }
        let module = match has_module_parameter(&look.driver) && *asked != Some(Means::Module) {
            true => format!(". {} takes a parameter when it is loaded: --by module", look.driver),
            false => String::new(),
        };
        report.problems.push(format!(
            "{}: {interface} cannot have the interrupt delay {delay}: {}{module}",
            self.host,
            why_not.join("; ")
        ));
        Ok(())
    }

    /// The state that a NIC is to have; the error says why the means cannot give it the delay.
    fn desired(
        &mut self,
        look: &DelayLook,
        means: Means,
        delay: Delay,
    ) -> Result<Result<Vec<(Key, Value)>, String>, HostError> {
        let interface = look.interface.as_str();
        Ok(match means {
            Means::Ethtool => match self.kernel.read(&coalescing(interface))? {
                Value::Coalescing(_) if delay == Delay::Adaptive && self.cannot_adapt(look)? => {
                    Err(format!("the driver ({}) has no adaptive-rx", look.driver))
                }
                Value::Coalescing(now) => to_coalescing(&look.driver, now, delay)
                    .map(|value| vec![(coalescing(interface), Value::Coalescing(value))]),
                _ => Err("it is gone".into()),
            },
            Means::Napi => to_napi(delay).map(|value| vec![(napi(interface), Value::NapiDelay(value))]),
            Means::Module => {
                let nics = self.kernel.interfaces_of(&look.driver).len();
                let (path, text) = module_file(&look.driver, delay, nics);
                Ok(vec![(Key::File { path }, Value::Text(text))])
            }
        })
    }

    /// Whether a driver is known not to choose a delay by itself.
    fn cannot_adapt(&self, look: &DelayLook) -> Result<bool, HostError> {
        let told = || self.kernel.has_adaptive_rx(&look.interface);
        Ok(!numbers_its_modes(&look.driver) && told()? == Some(false))
    }

    /// The changes that a NIC needs. What an earlier call set by another means goes back first.
    fn delay_changes(
        &mut self,
        interface: &str,
        desired: &[(Key, Value)],
        record: &Record,
    ) -> Result<Vec<Change>, HostError> {
        let is_its = |change: &&Change| change.key.interface() == Some(interface);
        let made: Vec<_> = record.changes.iter().filter(is_its).cloned().collect();
        let keys = desired.iter().map(|(key, _)| key).chain(made.iter().map(|change| &change.key));
        let actual = self.kernel.read_all(keys)?;
        let mut changes = difference(desired, &actual, &made);
        changes.retain(|change| !record.rounded.contains(change));
        Ok(changes)
    }

    /// Makes the changes of one NIC and reads them back, because drivers round. If the NIC refuses, it is
    /// restored, and the reason is returned.
    fn try_changes(
        &mut self,
        changes: &[Change],
        record: &mut Record,
    ) -> Result<Result<Vec<Change>, String>, HostError> {
        if changes.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let known = record.clone();
        record.add(changes);
        self.journal.save(record)?;
        for (number, change) in changes.iter().enumerate() {
            match self.kernel.write(&change.key, &change.to) {
                Err(error) if error.is_refusal() => {
                    for made in changes[..number].iter().rev() {
                        self.kernel.write(&made.key, &made.from)?;
                    }
                    *record = known;
                    self.journal.save(record)?;
                    return Ok(Err(error.to_string()));
                }
                done => done?,
            }
        }
        let mut as_read = changes.to_vec();
        for change in &mut as_read {
            change.to = self.kernel.read(&change.key)?;
        }
        record.add(&as_read);
        record.note_rounding(changes, &as_read);
        self.journal.save(record)?;
        Ok(Ok(as_read))
    }
}

fn coalescing(interface: &str) -> Key {
    Key::Coalescing { interface: interface.into() }
}

fn napi(interface: &str) -> Key {
    Key::NapiDelay { interface: interface.into() }
}

fn without(means: Means, obstacle: String) -> MeansLook {
    MeansLook { means, delay: None, setting: String::new(), obstacle: Some(obstacle) }
}

fn look_at_module(driver: &str) -> MeansLook {
    let setting = "InterruptThrottleRate, when the driver is loaded".to_owned();
    match has_module_parameter(driver) {
        true => MeansLook { means: Means::Module, delay: None, setting, obstacle: None },
        false => without(Means::Module, format!("its driver ({driver}) has no InterruptThrottleRate")),
    }
}

fn chosen(interface: &str, delay: Delay, means: Means, why_not: &[String]) -> String {
    let not =
        if why_not.is_empty() { String::new() } else { format!(" (not by {})", why_not.join("; nor by ")) };
    format!("{interface}: {delay} by {means}{not}")
}

/// The changes that a driver has made other than asked.
fn rounded(interface: &str, asked: &[Change], made: &[Change]) -> Vec<String> {
    let other = asked.iter().zip(made).filter(|(asked, made)| asked.to != made.to);
    other
        .map(|(asked, made)| format!("{interface}: asked for {}, the driver made it {}", asked.to, made.to))
        .collect()
}
