//! Groups of symmetries that a graph can have.

/// A group by its table: elements are numbers, 0 is the neutral one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    size: usize,
    products: Vec<u16>,
    inverses: Vec<u16>,
}

impl Group {
    /// The group of one element.
    pub fn none() -> Self {
        Self { size: 1, products: vec![0], inverses: vec![0] }
    }

    /// The semidirect product Z_turns x Z_flips: `turns` rotations and, if `flips` is 2, a second operation
    /// that turns a rotation by `x` into one by `twist * x`. `None` if this is no group.
    pub fn new(turns: usize, flips: usize, twist: usize) -> Option<Self> {
        if turns == 0 || !(1..=2).contains(&flips) || (flips == 2 && twist * twist % turns != 1 % turns) {
            return None;
        }
        let size = turns * flips;
        let element = |x: usize, y: usize| x % turns * flips + y % flips;
        let product = |a: usize, b: usize| {
            let ((x, y), (u, v)) = ((a / flips, a % flips), (b / flips, b % flips));
            element(x + if y == 1 { twist * u } else { u }, y + v)
        };
        let products: Vec<u16> =
            (0..size).flat_map(|a| (0..size).map(move |b| product(a, b) as u16)).collect();
        let inverse = |a: usize| products[a * size..(a + 1) * size].iter().position(|&c| c == 0);
        let inverses: Option<Vec<u16>> = (0..size).map(|a| inverse(a).map(|b| b as u16)).collect();
        Some(Self { inverses: inverses?, size, products })
    }

    /// All groups of this kind with `size` elements; the one of rotations alone comes first.
    pub fn all(size: usize) -> Vec<Self> {
        let twisted = |turns: usize| (1..turns.max(2)).filter_map(move |twist| Self::new(turns, 2, twist));
        let half = size.is_multiple_of(2).then_some(size / 2).filter(|&turns| turns > 1);
        Self::new(size, 1, 1).into_iter().chain(half.into_iter().flat_map(twisted)).collect()
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn product(&self, a: usize, b: usize) -> usize {
        usize::from(self.products[a * self.size + b])
    }

    /// Whether an element other than 0 undoes itself.
    pub fn is_own_inverse(&self, a: usize) -> bool {
        a != 0 && usize::from(self.inverses[a]) == a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The groups fulfil the axioms, and their number is right: for example 3 of 8 elements, which are the
    /// cyclic group, Z4 x Z2 and the dihedral group.
    #[test]
    fn they_are_groups() {
        for size in 1..=32 {
            for group in Group::all(size) {
                assert_eq!(group.size(), size);
                for a in 0..size {
                    assert_eq!((group.product(a, 0), group.product(0, a)), (a, a));
                    assert_eq!(group.product(a, usize::from(group.inverses[a])), 0);
                    assert_eq!(group.is_own_inverse(a), a != 0 && group.product(a, a) == 0);
                    for (b, c) in (0..size).flat_map(|b| (0..size).map(move |c| (b, c))) {
                        let left = group.product(group.product(a, b), c);
                        assert_eq!(left, group.product(a, group.product(b, c)), "{size}");
                    }
                }
            }
        }
        assert_eq!([1, 2, 4, 6, 8, 16].map(|size| Group::all(size).len()), [1, 1, 2, 3, 3, 5]);
        assert_eq!((Group::new(5, 2, 2), Group::new(0, 1, 1), Group::new(4, 3, 1)), (None, None, None));
    }
}
