//! Names of the networks, in the data file and in cells.

/// The 4 x 4 mesh.
pub(super) const MESH: &str = "mesh 4x4";
/// The 4 x 4 torus.
pub(super) const TORUS: &str = "torus 4x4";
/// The fat tree (2, 4, 2) with 14 switches.
pub(super) const FAT_14: &str = "fat tree (2,4,2) 14";
/// The fat tree (2, 4, 1) with 6 switches.
pub(super) const FAT_6: &str = "fat tree (2,4,1) 6";
/// Myrinet-Clos with 8 switches.
pub(super) const CLOS: &str = "Myrinet-Clos 8";

/// The claim that one network has all figures of A.
pub(super) const GROUP_A: &str = "topology A, all in one network";
/// The claim that one network has all figures of B.
pub(super) const GROUP_B: &str = "topology B, all in one network";

/// Networks of 64 hosts: key in the data file, name, and the claim by which an unknown one is judged.
pub(super) fn named_64() -> [(&'static str, &'static str, Option<&'static str>); 4] {
    [
        ("A", "topology A", Some(GROUP_A)),
        ("B", "topology B", Some(GROUP_B)),
        ("mesh4x4", MESH, None),
        ("torus4x4", TORUS, None),
    ]
}

/// Networks of 32 hosts, in the order of table 5.
pub(super) const OF_32: [(&str, &str); 4] =
    [("ring8", "ring 8"), ("mesh4x2", "mesh 4x2"), ("torus4x2", "torus 4x2"), ("myrinet_clos8", CLOS)];

/// Networks of 16 hosts, in the order of table 7.
pub(super) const OF_16: [(&str, &str); 4] =
    [("fat_tree_2_4_2", FAT_14), ("fat_tree_2_4_1", FAT_6), ("myrinet_clos8", CLOS), ("ring4", "ring 4")];
