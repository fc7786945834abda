//! What is attached to a host's NICs. A filter's name says which plan it belongs to, so that every user can
//! see whether a host stripes; only root may read the tables.

use crate::{StripeError, error::doing};
use aya::{
    maps::{Map, MapData, MapInfo},
    programs::{ProgramInfo, loaded_programs},
};
use std::collections::BTreeSet;
use tasuki_sys::netlink::{AttachedProgram, Netlink};

/// Priority of the filters: they run after those that people set by hand, which are numbered from 1.
pub const PRIORITY: u16 = 0x7a51;
/// How the filters' names begin.
const NAME: &str = "tasuki-stripe";

/// The name of the filters of a plan.
pub(crate) fn name(sum: u32, nics: usize) -> String {
    format!("{NAME}:{sum:08x}:{nics}")
}

/// Striping that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Checksum of the plan, as given to [`crate::install`]; `None`: some NICs of the plan are missing, or
    /// have the filter of another plan.
    pub sum: Option<u32>,
    /// The kernel's number of the program.
    pub program: u32,
    /// Interface indices of the NICs that the program is on.
    pub nics: Vec<u32>,
}

/// The striping of the network namespace of `netlink`, if there is any. Needs no privileges.
pub fn find(netlink: &mut Netlink) -> Result<Option<Found>, StripeError> {
    let all = all(netlink)?;
    let Some((_, first)) = all.first() else { return Ok(None) };
    let programs: BTreeSet<u32> = all.iter().map(|(_, attached)| attached.id).collect();
    let mut parts = first.name.split(':').skip(1);
    let sum = parts.next().and_then(|sum| u32::from_str_radix(sum, 16).ok());
    let nics = parts.next().and_then(|nics| nics.parse::<usize>().ok());
    let is_whole = programs.len() == 1 && nics == Some(all.len());
    let nics = all.iter().map(|(index, _)| *index).collect();
    Ok(Some(Found { sum: sum.filter(|_| is_whole), program: first.id, nics }))
}

/// All striping filters, each with the index of its interface.
pub(crate) fn all(netlink: &mut Netlink) -> Result<Vec<(u32, AttachedProgram)>, StripeError> {
    let mut all = Vec::new();
    for index in netlink.clsacts()? {
        let programs = netlink.egress_programs(index)?.into_iter();
        let is_ours =
            |program: &AttachedProgram| program.priority == PRIORITY && program.name.starts_with(NAME);
        all.extend(programs.filter(is_ours).map(|program| (index, program)));
    }
    Ok(all)
}

impl Found {
    /// One of the program's tables. Needs root.
    pub(crate) fn table(&self, name: &str) -> Result<MapData, StripeError> {
        let lost = || StripeError::Program { doing: "find the tables", why: "the program has ended".into() };
        let ids = self
            .information()?
            .ok_or_else(lost)?
            .map_ids()
            .map_err(doing("list the tables"))?
            .unwrap_or_default();
        for id in ids {
            let info = MapInfo::from_id(id).map_err(doing("look at a table"))?;
            if info.name_as_str() == Some(name) {
                return MapData::from_id(id).map_err(doing("open a table"));
            }
        }
        Err(lost())
    }

    /// What the kernel tells of the program; `None`: it has ended.
    fn information(&self) -> Result<Option<ProgramInfo>, StripeError> {
        let found = search(loaded_programs(), |program| program.id() == self.program);
        found.map_err(doing("find the program"))
    }

    /// One of the program's tables that is an array. Needs root.
    pub(crate) fn array(&self, name: &str) -> Result<Map, StripeError> {
        Ok(Map::Array(self.table(name)?))
    }
}

/// The one of these that is looked for; `None`: it is not there. Others may end while they are looked at,
/// which is an error of these alone.
fn search<T, E>(
    all: impl IntoIterator<Item = Result<T, E>>,
    is_it: impl Fn(&T) -> bool,
) -> Result<Option<T>, E> {
    let mut failed = None;
    for one in all {
        match one {
            Ok(one) if is_it(&one) => return Ok(Some(one)),
            Ok(_) => {}
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(None), Err)
}

#[cfg(test)]
mod tests {
    use super::search;

    /// The kernel counts programs up, and any of them may end between its number and its description.
    #[test]
    fn programs_that_end_meanwhile_do_not_hide_the_one_that_is_looked_for() {
        let is_it = |program: &u32| *program == 7;
        let ended = Err("No such file or directory");
        assert_eq!(search([Ok(3), ended, Ok(7), ended], is_it), Ok(Some(7)));
        assert_eq!(search([Ok(3), Ok(8)], is_it), Ok::<_, &str>(None));
        assert_eq!(search([Err("Operation not permitted")], is_it), Err("Operation not permitted"));
    }
}
