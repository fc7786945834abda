//! Storage with stable keys. Grows to the high-water mark and reuses its slots: no allocation in steady state.

use crate::ids::Key;

const END: u32 = u32::MAX;

enum Body<T> {
    Full(T),
    /// Next free slot, or `END`.
    Free(u32),
}

struct Slot<T> {
    generation: u32,
    body: Body<T>,
}

pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    len: usize,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { slots: Vec::new(), free: END, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn insert(&mut self, value: T) -> Key {
        self.len += 1;
        if let Some(slot) = self.slots.get_mut(self.free as usize) {
            let index = self.free;
            if let Body::Free(next) = slot.body {
                self.free = next;
            }
            slot.body = Body::Full(value);
            return Key { index, generation: slot.generation };
        }
        // 2^32 live operations do not fit in memory, so the index cannot wrap.
        let index = self.slots.len() as u32;
        self.slots.push(Slot { generation: 0, body: Body::Full(value) });
        Key { index, generation: 0 }
    }

    #[inline]
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.slots.get(key.index as usize) {
            Some(Slot { generation, body: Body::Full(value) }) if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.slots.get_mut(key.index as usize) {
            Some(Slot { generation, body: Body::Full(value) }) if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    /// The tenant of a slot, for holders of an index who know that it has not changed.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.slots.get_mut(index as usize) {
            Some(Slot { body: Body::Full(value), .. }) => Some(value),
            _ => None,
        }
    }

    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let slot = &mut self.slots[key.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        let old = std::mem::replace(&mut slot.body, Body::Free(self.free));
        self.free = key.index;
        self.len -= 1;
        match old {
            Body::Full(value) => Some(value),
            Body::Free(_) => None,
        }
    }

    /// Removes a tenant that nobody wants to see again.
    #[inline(always)]
    pub fn forget(&mut self, key: Key) {
        let Some(slot) = self.slots.get_mut(key.index as usize) else { return };
        if slot.generation != key.generation || matches!(slot.body, Body::Free(_)) {
            return;
        }
        slot.generation = slot.generation.wrapping_add(1);
        slot.body = Body::Free(self.free);
        self.free = key.index;
        self.len -= 1;
    }

    /// Removes the tenants that `stays` does not accept.
    pub fn retain(&mut self, mut stays: impl FnMut(&T) -> bool) {
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            if let Body::Full(value) = &slot.body
                && !stays(value)
            {
                self.remove(Key { index: index as u32, generation: slot.generation });
            }
        }
    }

    /// Keys of the tenants that `wanted` accepts, by slot: a fixed order, so that a replay is exact.
    pub fn keys_where(&self, mut wanted: impl FnMut(&T) -> bool) -> Vec<Key> {
        let full = self.slots.iter().enumerate().filter_map(|(index, slot)| match &slot.body {
            Body::Full(value) if wanted(value) => {
                Some(Key { index: index as u32, generation: slot.generation })
            }
            _ => None,
        });
        full.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_never_names_the_next_tenant() {
        let mut slab = Slab::new();
        let a = slab.insert('a');
        let b = slab.insert('b');
        assert_eq!(slab.remove(a), Some('a'));
        assert_eq!(slab.remove(a), None);
        let c = slab.insert('c');
        assert_eq!(c.index, a.index, "the slot is reused");
        assert_eq!(slab.get(a), None);
        assert_eq!((slab.get(b), slab.get(c)), (Some(&'b'), Some(&'c')));
        assert_eq!(slab.len(), 2);
        assert_eq!(slab.keys_where(|_| true), vec![c, b]);
        slab.retain(|&name| name == 'c');
        assert_eq!((slab.len(), slab.get(b), slab.get(c)), (1, None, Some(&'c')));
    }
}
