//! Records by number, for receives: each message makes one and ends it.
//!
//! Like the crate `slab`, but its functions become part of the hot path of a message: a record is written
//! where it stays, and a record that nobody wants to see again is not copied.

enum Place<T> {
    Taken(T),
    /// Number of the next free place.
    Free(usize),
}

/// A table of records, each under a number that is reused after it was removed.
pub(crate) struct Table<T> {
    places: Vec<Place<T>>,
    free: usize,
    len: usize,
}

impl<T> Table<T> {
    pub fn new() -> Table<T> {
        Table { places: Vec::new(), free: 0, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number that the next record will have.
    #[inline(always)]
    pub fn next_key(&self) -> usize {
        self.free
    }

    /// Inserts a record and gives its number.
    #[inline(always)]
    pub fn insert(&mut self, value: T) -> usize {
        let key = self.free;
        if key >= self.places.len() {
            self.append();
        }
        if let Some(place @ Place::Free(_)) = self.places.get_mut(key) {
            let free = std::mem::replace(place, Place::Taken(value));
            if let Place::Free(next) = free {
                self.free = next;
            }
            // The place was free, so there is no value to be dropped, and the compiler need not test for one.
            std::mem::forget(free);
            self.len += 1;
        }
        key
    }

    /// Adds a free place at the end.
    #[cold]
    fn append(&mut self) {
        self.places.push(Place::Free(self.places.len() + 1));
    }

    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<&T> {
        match self.places.get(key) {
            Some(Place::Taken(value)) => Some(value),
            _ => None,
        }
    }

    /// Removes a record and drops it.
    pub fn remove(&mut self, key: usize) {
        drop(self.take(key));
    }

    /// Removes a record and gives it.
    pub fn extract(&mut self, key: usize) -> Option<T> {
        match self.take(key)? {
            Place::Taken(value) => Some(value),
            Place::Free(_) => None,
        }
    }

    /// Removes a record without dropping it. It must own nothing that has to be freed, or that is leaked.
    #[inline(always)]
    pub fn forget(&mut self, key: usize) {
        std::mem::forget(self.take(key));
    }

    #[inline(always)]
    fn take(&mut self, key: usize) -> Option<Place<T>> {
        let place = self.places.get_mut(key).filter(|place| matches!(place, Place::Taken(_)))?;
        let taken = std::mem::replace(place, Place::Free(self.free));
        self.free = key;
        self.len -= 1;
        Some(taken)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| match place {
            Place::Taken(value) => Some(value),
            Place::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Compares the table with a `BTreeMap` over random insertions and removals.
    #[test]
    fn it_holds_what_a_map_would_hold() {
        let (mut table, mut map, mut random) = (Table::new(), BTreeMap::new(), 1u64);
        for number in 0..10_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (random >> 33) as usize % 40;
            if random >> 63 == 0 {
                let next = table.next_key();
                assert_eq!(table.insert(number), next);
                assert_eq!(map.insert(next, number), None, "the number of another");
            } else {
                let removed = map.remove(&key);
                match key % 3 {
                    0 => table.remove(key),
                    1 => table.forget(key),
                    _ => assert_eq!(table.extract(key), removed),
                }
            }
            assert_eq!(table.get(key), map.get(&key));
            assert_eq!((table.len(), table.is_empty()), (map.len(), map.is_empty()));
            assert!(table.iter().eq(map.values()));
        }
    }

    #[test]
    fn a_number_is_given_again() {
        let mut table = Table::new();
        let keys: Vec<usize> = (0..3).map(|value| table.insert(value)).collect();
        table.remove(keys[1]);
        table.remove(keys[1]);
        assert_eq!((table.insert(7), table.insert(8)), (keys[1], 3));
    }
}
