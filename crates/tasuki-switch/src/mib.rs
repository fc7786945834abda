//! Object identifiers.

/// sysUpTime.0 (RFC 3418): hundredths of a second since the agent began.
pub(crate) const UPTIME: [u64; 9] = [1, 3, 6, 1, 2, 1, 1, 3, 0];

/// A column of a table whose rows are interfaces, by ifIndex.
pub(crate) type Column = [u64];

const IF: [u64; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
const IFX: [u64; 10] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
const DOT3: [u64; 10] = [1, 3, 6, 1, 2, 1, 10, 7, 2, 1];

const fn of_if(column: u64) -> [u64; 10] {
    [IF[0], IF[1], IF[2], IF[3], IF[4], IF[5], IF[6], IF[7], IF[8], column]
}

const fn behind(table: [u64; 10], column: u64) -> [u64; 11] {
    let [a, b, c, d, e, f, g, h, i, j] = table;
    [a, b, c, d, e, f, g, h, i, j, column]
}

/// ifDescr.
pub(crate) const DESCRIPTION: [u64; 10] = of_if(2);
/// ifType.
pub(crate) const TYPE: [u64; 10] = of_if(3);
/// ifName.
pub(crate) const NAME: [u64; 11] = behind(IFX, 1);

/// ifOperStatus: 1 is up.
pub(crate) const STATUS: [u64; 10] = of_if(8);
/// ifInDiscards and ifInErrors.
pub(crate) const IN_DISCARDS: [u64; 10] = of_if(13);
pub(crate) const IN_ERRORS: [u64; 10] = of_if(14);
/// ifOutDiscards and ifOutErrors.
pub(crate) const OUT_DISCARDS: [u64; 10] = of_if(19);
pub(crate) const OUT_ERRORS: [u64; 10] = of_if(20);
/// ifHCInOctets and ifHCOutOctets.
pub(crate) const IN_OCTETS: [u64; 11] = behind(IFX, 6);
pub(crate) const OUT_OCTETS: [u64; 11] = behind(IFX, 10);
/// ifHighSpeed: millions of bits per second.
pub(crate) const HIGH_SPEED: [u64; 11] = behind(IFX, 15);
/// ifCounterDiscontinuityTime: sysUpTime when the interface began to count anew.
pub(crate) const DISCONTINUITY: [u64; 11] = behind(IFX, 19);
/// dot3StatsFCSErrors: frames of whole octets with a wrong checksum.
pub(crate) const FCS_ERRORS: [u64; 11] = behind(DOT3, 3);

/// What a port counts, in the order in which it is asked for.
pub(crate) const OF_A_PORT: [&Column; 10] = [
    &STATUS,
    &HIGH_SPEED,
    &IN_OCTETS,
    &OUT_OCTETS,
    &IN_ERRORS,
    &OUT_ERRORS,
    &IN_DISCARDS,
    &OUT_DISCARDS,
    &FCS_ERRORS,
    &DISCONTINUITY,
];

/// Values of ifType (IANAifType-MIB) that ports with Ethernet have: ethernetCsmacd, and three that older
/// switches report.
pub(crate) const ETHERNET_TYPES: [u64; 4] = [6, 62, 69, 117];
