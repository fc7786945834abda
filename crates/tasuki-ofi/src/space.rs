//! The table of an address vector, of either type: addresses by their names, which are indices (`fi_addr_t`).

use std::collections::HashMap;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use tasuki_engine::Address;

use crate::abi::FiAddr;
use crate::members::{Member, Members};

/// Addresses in the order of insertion, used by endpoints of type `E`. The name of a removed address is not
/// given again.
pub struct Space<E> {
    table: RwLock<Table>,
    /// Endpoints that use the vector: they forget names that are removed.
    pub members: Members<E>,
}

#[derive(Default)]
struct Table {
    addresses: Vec<Option<Address>>,
    /// The first name of each address, which may have been inserted several times.
    names: HashMap<Address, FiAddr>,
}

impl<E> Default for Space<E> {
    fn default() -> Space<E> {
        Space { table: RwLock::default(), members: Members::default() }
    }
}

impl<E: Member> Space<E> {
    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Gives an address a name.
    pub fn insert(&self, address: Address) -> FiAddr {
        let mut table = self.write();
        let name = table.addresses.len() as FiAddr;
        table.addresses.push(Some(address));
        table.names.entry(address).or_insert(name);
        name
    }

    /// Removes a name; `None` if it is not there.
    pub fn remove(&self, name: FiAddr) -> Option<()> {
        let last = {
            let mut table = self.write();
            let address = table.addresses.get_mut(usize::try_from(name).ok()?)?.take()?;
            let next = table.addresses.iter().position(|other| *other == Some(address));
            match next {
                Some(next) => table.names.insert(address, next as FiAddr),
                None => table.names.remove(&address),
            };
            next.is_none()
        };
        self.members.each(|ep| ep.forget(name, last));
        Some(())
    }

    /// The address of a name.
    pub fn address(&self, name: FiAddr) -> Option<Address> {
        *self.read().addresses.get(usize::try_from(name).ok()?)?
    }

    /// The name of an address.
    pub fn name(&self, address: &Address) -> Option<FiAddr> {
        self.read().names.get(address).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> Address {
        Address {
            identity: std::net::Ipv6Addr::LOCALHOST,
            port,
            endpoint: 1,
            incarnation: 2,
            secret: [3; 16],
        }
    }

    #[test]
    fn names_count_up_and_are_not_given_again() {
        let space = Space::<crate::ep::EpShared>::default();
        assert_eq!([1, 2, 1].map(|port| space.insert(address(port))), [0, 1, 2]);
        assert_eq!(space.name(&address(1)), Some(0));
        assert_eq!(space.remove(0), Some(()));
        assert_eq!(space.remove(0), None);
        assert_eq!(space.address(0), None);
        assert_eq!(space.name(&address(1)), Some(2), "inserted twice, removed once");
        assert_eq!(space.insert(address(4)), 3);
        assert_eq!(space.address(u64::MAX), None);
    }
}
