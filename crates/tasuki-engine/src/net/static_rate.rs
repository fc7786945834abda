//! The static mode of the ATM paper (`docs/internals/rate-model.md`): senders are told R and B of their
//! receivers, from which the rate of each message follows.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use tasuki_rate::Receiver;

use super::rails::mapped;

/// R (drain rate) and B (buffer) of receivers, as `tasuki bench drain` measures them: of some hosts, and of
/// all others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receivers {
    others: Option<Receiver>,
    /// By identity address.
    known: BTreeMap<Ipv6Addr, Receiver>,
}

/// The text is no list of receivers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no list of receivers: R/B for all, ADDRESS=R/B for one host, as in 101M/128K,10.77.0.2=52M/64K"
)]
pub struct ParseReceiversError(String);

impl FromStr for Receivers {
    type Err = ParseReceiversError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseReceiversError(text.to_owned());
        let mut receivers = Receivers::default();
        for one in text.split(',') {
            let (host, receiver) = one.split_once('=').map_or((None, one), |(host, rest)| (Some(host), rest));
            let receiver = receiver.parse().map_err(|_| wrong())?;
            let twice = match host {
                None => receivers.others.replace(receiver),
                Some(host) => {
                    let address: IpAddr = host.parse().map_err(|_| wrong())?;
                    receivers.known.insert(mapped(address), receiver)
                }
            };
            if twice.is_some() {
                return Err(wrong());
            }
        }
        Ok(receivers)
    }
}

impl Receivers {
    /// R and B of the host with this identity address.
    pub(super) fn of(&self, identity: Ipv6Addr) -> Option<Receiver> {
        self.known.get(&identity).copied().or(self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_and_nonsense_is_refused() {
        let receivers: Receivers = "101M/128K,10.77.0.2=52M/64K".parse().unwrap();
        let of = |address: &str| receivers.of(mapped(address.parse().unwrap())).unwrap().drain_bps;
        assert_eq!((of("10.77.0.2"), of("10.77.0.3")), (52e6, 101e6));
        let one: Receivers = "10.77.0.2=52M/64K".parse().unwrap();
        assert_eq!(one.of(mapped("10.77.0.3".parse().unwrap())), None, "goes as it comes");
        for wrong in
            ["", "52M", "52M/64K,", "52M/64K,52M/64K", "n1=52M/64K", "10.77.0.2=52M/64K,10.77.0.2=1M/1"]
        {
            assert!(wrong.parse::<Receivers>().is_err(), "{wrong}");
        }
    }
}
