//! `fukunaga.toml`: two papers of Fukunaga and others.

use serde::Deserialize;

/// Figures of both papers.
#[derive(Clone, Debug, Deserialize)]
pub struct Fukunaga {
    /// PCs cabled to each other.
    pub cross_connection: Cross,
    /// One stream over several NICs.
    pub nic_distribution: NicDistribution,
}

/// The cross-connection paper.
#[derive(Clone, Debug, Deserialize)]
pub struct Cross {
    /// Gains of cables over the switch, four PCs.
    pub ratio_4pc_cross_over_switch: IsCg,
    /// Gains of no interrupt delay, four PCs.
    pub ratio_4pc_delay_off: DelayOff,
    /// IS on two PCs and on one, Mop/s.
    pub is_2pc_mops: IsOfTwo,
    /// Gains of bonding, two PCs.
    pub bonding_2pc: IsCg,
}

/// A figure each of IS and CG.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct IsCg {
    /// IS.
    pub is: f64,
    /// CG.
    pub cg: f64,
}

/// Gains of no interrupt delay.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct DelayOff {
    /// IS.
    pub is: f64,
    /// CG, in words.
    pub cg: String,
    /// LU, in words.
    pub lu: String,
}

/// IS on two PCs and on one, Mop/s.
#[derive(Clone, Debug, Deserialize)]
pub struct IsOfTwo {
    /// Without interrupt delay.
    pub delay_off: f64,
    /// With two cables bonded.
    pub bonding: f64,
    /// One PC.
    pub one_pc: f64,
}

/// The NIC distribution paper.
#[derive(Clone, Debug, Deserialize)]
pub struct NicDistribution {
    /// Bytes of a MByte.
    pub mbyte: f64,
    /// What a NIC can physically do, MByte/s.
    pub physical_mb_s: f64,
    /// Bonding with two NICs, MByte/s.
    pub bonding_2nic_mb_s: f64,
    /// Gains over bonding.
    pub over_bonding: OverBonding,
    /// Gains of four NICs for programs on four nodes.
    pub npb_class_w_4nodes_4nics: MgLu,
}

/// Gains of NIC distribution over bonding.
#[derive(Clone, Debug, Deserialize)]
pub struct OverBonding {
    /// With three NICs.
    pub nic3: f64,
    /// With four NICs.
    pub nic4: f64,
}

/// A figure each of MG and LU.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct MgLu {
    /// MG.
    pub mg: f64,
    /// LU.
    pub lu: f64,
}
