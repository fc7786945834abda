//! Storage with stable keys. It grows to its high-water mark and reuses its slots, so it does not allocate in
//! steady state.

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

    /// The key that the next `insert` will return.
    #[inline(always)]
    pub fn next_key(&self) -> Key {
        match self.slots.get(self.free as usize) {
            Some(slot) => Key { index: self.free, generation: slot.generation },
            None => Key { index: self.slots.len() as u32, generation: 0 },
        }
    }

    #[inline(always)]
    pub fn insert(&mut self, value: T) -> Key {
        if self.free as usize >= self.slots.len() {
            self.append();
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        if let Body::Free(next) = slot.body {
            self.free = next;
        }
        slot.body = Body::Full(value);
        self.len += 1;
        Key { index, generation: slot.generation }
    }

    /// Makes another slot when none is free. This is done before the value is moved, so that the value is
    /// written only once, to where it stays.
    #[cold]
    fn append(&mut self) {
        // The index cannot overflow: 2^32 live operations do not fit in memory.
        self.free = self.slots.len() as u32;
        self.slots.push(Slot { generation: 0, body: Body::Free(END) });
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

    /// The tenant of a slot, for callers that hold an index and know that its tenant has not changed.
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

    /// Removes the tenant of a key if `wanted` returns something for it; returns that.
    #[inline(always)]
    pub fn remove_if<R>(&mut self, key: Key, wanted: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        let slot = self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)?;
        let Body::Full(value) = &slot.body else { return None };
        let result = wanted(value)?;
        slot.generation = slot.generation.wrapping_add(1);
        slot.body = Body::Free(self.free);
        self.free = key.index;
        self.len -= 1;
        Some(result)
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

    /// The tenants of the first `places` slots.
    pub fn first_places(&self, places: usize) -> impl Iterator<Item = &T> {
        self.slots.iter().take(places).filter_map(|slot| match &slot.body {
            Body::Full(value) => Some(value),
            Body::Free(_) => None,
        })
    }

    /// Keys of the tenants that `wanted` accepts, in the order of slots, so that a replay is exact.
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
        for name in ['d', 'e'] {
            let next = slab.next_key();
            assert_eq!(slab.insert(name), next);
        }
        slab.retain(|name| !"de".contains(*name));
        assert_eq!(slab.keys_where(|_| true), vec![c, b]);
        assert_eq!(slab.remove_if(a, |_| Some(())), None);
        assert_eq!(slab.remove_if(b, |_| None::<()>), None);
        let d = slab.insert('d');
        assert_eq!(slab.remove_if(d, |name| Some(*name)), Some('d'));
        assert_eq!((slab.get(d), slab.len()), (None, 2));
        slab.retain(|&name| name == 'c');
        assert_eq!((slab.len(), slab.get(b), slab.get(c)), (1, None, Some(&'c')));
    }
}
