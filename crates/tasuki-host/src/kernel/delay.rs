//! Interrupt delays of a NIC: in its hardware, and in the kernel.

use super::Kernel;
use crate::{CoalescingValue, HostError, NapiDelayValue, Value};
use std::io::{self, ErrorKind};
use tasuki_sys::{
    ethtool::{Coalescing, Ethtool, EthtoolError, has_adaptive_rx},
    napi::{self, Deferral, Instance},
};

/// Whether an error means that a NIC does not have the setting, or not with this value.
pub fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EOPNOTSUPP | nix::libc::EINVAL | nix::libc::ERANGE))
}

impl Kernel {
    /// Makes host errors of ethtool's errors.
    pub fn ethtool(&self) -> impl Fn(EthtoolError) -> HostError + use<> {
        let host = self.host.clone();
        move |source| HostError::Ethtool { host: host.clone(), source }
    }

    fn napi(&self, doing: &'static str, interface: &str) -> impl Fn(io::Error) -> HostError + use<> {
        let (host, interface) = (self.host.clone(), interface.to_owned());
        move |source| HostError::Napi { host: host.clone(), doing, interface: interface.clone(), source }
    }

    /// The driver of an interface; `None`: it has none that can be named.
    pub fn driver(&self, interface: &str) -> Option<String> {
        Ethtool::open(interface).and_then(|ethtool| ethtool.driver()).ok()
    }

    /// Whether an interface's driver can choose the delay by itself; `None`: the kernel does not tell.
    pub fn has_adaptive_rx(&self, interface: &str) -> Result<Option<bool>, HostError> {
        let told = has_adaptive_rx(self.index(interface)?);
        told.map_err(|source| {
            self.ethtool()(EthtoolError {
                request: "read interrupt delay",
                interface: interface.to_owned(),
                source,
            })
        })
    }

    /// The receiving instances of an interface; `None`: this kernel does not list them.
    pub fn napi_instances(&self, interface: &str) -> Result<Option<Vec<Instance>>, HostError> {
        napi::instances(self.index(interface)?).map_err(self.napi("read", interface))
    }

    pub(super) fn read_coalescing(&self, interface: &str) -> Result<Value, HostError> {
        match Ethtool::open(interface).and_then(|ethtool| ethtool.coalescing()) {
            Ok(Coalescing { rx_usecs, rx_frames, adaptive_rx }) => {
                Ok(Value::Coalescing(CoalescingValue { rx_usecs, rx_frames, adaptive_rx }))
            }
            Err(error) if is_refusal(&error.source) => Ok(Value::Absent),
            Err(error) => Err(self.ethtool()(error)),
        }
    }

    pub(super) fn write_coalescing(&self, interface: &str, wanted: CoalescingValue) -> Result<(), HostError> {
        let CoalescingValue { rx_usecs, rx_frames, adaptive_rx } = wanted;
        let ethtool = Ethtool::open(interface).map_err(self.ethtool())?;
        ethtool.set_coalescing(Coalescing { rx_usecs, rx_frames, adaptive_rx }).map_err(self.ethtool())
    }

    pub(super) fn read_napi_delay(&self, interface: &str, index: u32) -> Result<Value, HostError> {
        let fail = self.napi("read", interface);
        let device = match napi::deferral(interface) {
            Ok(device) => device,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Value::Absent),
            Err(error) => return Err(fail(error)),
        };
        let instances = napi::instances(index).map_err(fail)?.unwrap_or_default();
        let other = |instance: &Instance| {
            let deferral = instance.deferral.filter(|deferral| *deferral != device)?;
            Some((instance.id, deferral.flush_ns, deferral.defer_irqs))
        };
        Ok(Value::NapiDelay(NapiDelayValue {
            flush_ns: device.flush_ns,
            defer_irqs: device.defer_irqs,
            instances: instances.iter().filter_map(other).collect(),
        }))
    }

    pub(super) fn write_napi_delay(&self, interface: &str, wanted: &NapiDelayValue) -> Result<(), HostError> {
        let fail = self.napi("set", interface);
        let NapiDelayValue { flush_ns, defer_irqs, ref instances } = *wanted;
        napi::set_deferral(interface, Deferral { flush_ns, defer_irqs }).map_err(&fail)?;
        if instances.is_empty() {
            return Ok(());
        }
        // Instances that are gone need not be restored.
        let there = self.napi_instances(interface)?.unwrap_or_default();
        for &(id, flush_ns, defer_irqs) in instances {
            if there.iter().any(|instance| instance.id == id) {
                napi::set_instance(id, Deferral { flush_ns, defer_irqs }).map_err(&fail)?;
            }
        }
        Ok(())
    }
}
