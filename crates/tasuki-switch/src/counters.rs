//! What ports count, and what has been added between two samples.

/// A switch at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchSample {
    /// Ports that have a cable in the cluster file, in order.
    pub ports: Vec<PortSample>,
    /// What is wrong with ports that are missing.
    pub problems: Vec<String>,
}

/// A port at one moment. What the switch does not count is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSample {
    /// Its number in the cluster file.
    pub port: u32,
    /// ifIndex.
    pub index: u64,
    /// What the switch calls it.
    pub interface: String,
    /// Time since the switch's agent began, hundredths of a second (sysUpTime).
    pub uptime: u32,
    /// The value of `uptime` when the interface began to count anew (ifCounterDiscontinuityTime).
    pub discontinuity: Option<u64>,
    /// Whether it has a signal (ifOperStatus).
    pub up: Option<bool>,
    /// Rate of the line, bit/s (ifHighSpeed).
    pub rate: Option<u64>,
    /// Bytes received from the cable (ifHCInOctets).
    pub received_bytes: Option<u64>,
    /// Bytes sent into the cable (ifHCOutOctets).
    pub sent_bytes: Option<u64>,
    /// Frames that came damaged from the cable (ifInErrors).
    pub receive_errors: Option<u32>,
    /// Frames that could not be sent (ifOutErrors).
    pub send_errors: Option<u32>,
    /// Frames from the cable that the switch had no room for (ifInDiscards).
    pub receive_dropped: Option<u32>,
    /// Frames for the cable that the switch had no room for (ifOutDiscards).
    pub send_dropped: Option<u32>,
    /// Frames that came with a wrong checksum (dot3StatsFCSErrors).
    pub crc_errors: Option<u32>,
}

/// What a port has counted between two samples. What the switch does not count is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// Frames that came damaged from the cable, of either counter the larger number.
    pub damaged: Option<u32>,
    /// Those of them with a wrong checksum.
    pub crc_errors: Option<u32>,
    /// Frames from the cable that the switch had no room for.
    pub receive_dropped: Option<u32>,
    /// Frames for the cable that the switch had no room for.
    pub send_dropped: Option<u32>,
}

impl PortSample {
    /// What has been counted since an earlier sample; `None` if the switch or the port began to count anew in
    /// between, or the port is another interface now. Counters of errors have 32 bits and begin at zero again
    /// behind the largest number (RFC 2578, section 7.1.6).
    pub fn since(&self, before: &Self) -> Option<Grown> {
        let is_same = (self.port, self.index) == (before.port, before.index);
        let has_begun_anew = self.uptime < before.uptime || self.discontinuity != before.discontinuity;
        if !is_same || has_begun_anew {
            return None;
        }
        let grown = |of: fn(&Self) -> Option<u32>| Some(of(self)?.wrapping_sub(of(before)?));
        let (errors, crc_errors) = (grown(|port| port.receive_errors), grown(|port| port.crc_errors));
        Some(Grown {
            damaged: errors.max(crc_errors),
            crc_errors,
            receive_dropped: grown(|port| port.receive_dropped),
            send_dropped: grown(|port| port.send_dropped),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_on_behind_their_largest_number() {
        let before = PortSample { receive_errors: Some(u32::MAX - 1), uptime: 5, ..PortSample::default() };
        let after = PortSample { receive_errors: Some(3), uptime: 6, ..PortSample::default() };
        let grown = after.since(&before).expect("it has counted on");
        assert_eq!((grown.damaged, grown.crc_errors, grown.send_dropped), (Some(5), None, None));
    }

    #[test]
    fn a_switch_that_began_anew_says_nothing() {
        let before = PortSample { receive_errors: Some(7), uptime: 50, index: 3, ..PortSample::default() };
        let after = PortSample { receive_errors: Some(9), uptime: 60, ..before.clone() };
        assert_eq!(after.since(&before).expect("it has counted on").damaged, Some(2));
        for after in [
            PortSample { uptime: 4, ..after.clone() },
            PortSample { discontinuity: Some(55), ..after.clone() },
            PortSample { index: 4, ..after.clone() },
        ] {
            assert_eq!(after.since(&before), None, "{after:?}");
        }
    }
}
