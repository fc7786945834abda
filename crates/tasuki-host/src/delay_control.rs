//! Changing the interrupt delay while a host runs, for `tasuki tune run`. The state before it is recorded
//! first, so that `undo` restores it whatever becomes of the process.

use crate::{
    Delay, HostError, Key, Means, Mode, Setup, Value,
    forgets::{SETTLED, forgets},
    kernel::Kernel,
};
use std::{fs, path::Path, time::Instant};

/// A NIC whose delay is changed.
struct Nic {
    interface: String,
    means: Means,
    driver: String,
    key: Key,
    before: Value,
}

/// NICs of the calling thread's network namespace, all with the same delay.
pub struct DelayControl {
    host: String,
    kernel: Kernel,
    nics: Vec<Nic>,
    /// When drivers that may overwrite a delay will have done so; `None`: there is no such driver, or the
    /// delay was written again.
    again: Option<Instant>,
}

/// What a NIC has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounts {
    /// Packets received.
    pub packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
}

impl NicCounts {
    /// The counts of a NIC; zeroes if the NIC is gone.
    pub fn of(interface: &str) -> Self {
        let number = |name: &str| {
            let text = fs::read_to_string(format!("/sys/class/net/{interface}/statistics/{name}"));
            text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            packets: number("rx_packets"),
            sent_packets: number("tx_packets"),
            received: number("rx_bytes"),
            sent: number("tx_bytes"),
        }
    }
}

impl DelayControl {
    /// Records the state of these NICs in the record in `folder`. Fails if one has no delay that could be
    /// changed.
    pub fn begin(
        host: &str,
        folder: &Path,
        interfaces: &[String],
        means: Option<Means>,
    ) -> Result<Self, HostError> {
        let mut setup = Setup::open(host, folder, Mode::Change, true)?;
        let mut nics = Vec::new();
        for interface in interfaces {
            let look = setup.delay_of(interface)?;
            let fits = |found: &&crate::MeansLook| {
                found.obstacle.is_none()
                    && found.means != Means::Module
                    && means.is_none_or(|means| means == found.means)
            };
            let Some(found) = look.means.iter().find(fits) else {
                let why = look.means.iter().filter(|found| found.means != Means::Module);
                let why =
                    why.filter_map(|found| Some(format!("{}: {}", found.means, found.obstacle.as_ref()?)));
                let why = why.collect::<Vec<_>>().join("; ");
                return Err(HostError::NoDelay { host: host.into(), interface: interface.clone(), why });
            };
            let key = match found.means {
                Means::Ethtool => Key::Coalescing { interface: interface.clone() },
                _ => Key::NapiDelay { interface: interface.clone() },
            };
            let (means, driver) = (found.means, look.driver.clone());
            nics.push(Nic { interface: interface.clone(), means, driver, key, before: Value::Absent });
        }
        let keys: Vec<_> = nics.iter().map(|nic| nic.key.clone()).collect();
        let now = setup.guard_delays(&keys)?;
        for (nic, before) in nics.iter_mut().zip(now) {
            nic.before = before;
        }
        let is_one = |nic: &Nic| nic.means == Means::Ethtool && forgets(&nic.driver);
        let again = nics.iter().any(is_one).then(|| Instant::now() + SETTLED);
        Ok(Self { host: host.into(), kernel: Kernel::open(host)?, nics, again })
    }

    /// The means by which each NIC's delay is set.
    pub fn means(&self) -> Vec<(String, Means)> {
        self.nics.iter().map(|nic| (nic.interface.clone(), nic.means)).collect()
    }

    /// Sets the delay of all NICs, microseconds; 0: off. A driver that does not accept so short a time gets
    /// its shortest.
    pub fn set_us(&mut self, us: u32) -> Result<(), HostError> {
        for nic in &self.nics {
            let value = match (&nic.before, nic.means) {
                (Value::Coalescing(now), Means::Ethtool) => {
                    let mut wanted = crate::delay::to_coalescing(&nic.driver, *now, Delay::from_us(us));
                    if wanted.is_err() {
                        wanted = crate::delay::to_coalescing(
                            &nic.driver,
                            *now,
                            Delay::from_us(us.clamp(10, 10_000)),
                        );
                    }
                    wanted.map(Value::Coalescing)
                }
                _ => crate::delay::to_napi(Delay::from_us(us)).map(Value::NapiDelay),
            };
            let refused =
                |why| HostError::NoDelay { host: self.host.clone(), interface: nic.interface.clone(), why };
            self.kernel.write(&nic.key, &value.map_err(refused)?)?;
        }
        Ok(())
    }

    /// Sets this delay again for all NICs, if the driver of one may have overwritten it. To be called now and
    /// then.
    pub fn keep_us(&mut self, us: u32) -> Result<(), HostError> {
        if self.again.is_none_or(|again| Instant::now() < again) {
            return Ok(());
        }
        self.again = None;
        self.set_us(us)
    }

    /// The counts of every NIC; zeroes for one that is gone.
    pub fn counts(&self) -> Vec<NicCounts> {
        self.nics.iter().map(|nic| NicCounts::of(&nic.interface)).collect()
    }

    /// Restores every NIC to its state at the beginning, and removes from the record what is as it was.
    pub fn end(mut self, folder: &Path) -> Result<(), HostError> {
        let mut done = Ok(());
        for nic in &self.nics {
            // A NIC that is gone must not keep the others from being restored.
            done = done.and(self.kernel.write(&nic.key, &nic.before));
        }
        self.kernel.refresh()?;
        done.and(Setup::open(&self.host, folder, Mode::Change, true)?.settle_delays())
    }
}
