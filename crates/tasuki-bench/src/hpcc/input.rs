//! The input `hpccinf.txt`: one matrix, one block size, one process grid.

use super::HpccError;

/// Columns of a block: small enough for small matrices, large enough for the BLAS of the distributions.
const BLOCK: u64 = 80;

/// The input of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    order: u64,
    rows: u32,
    columns: u32,
}

impl Input {
    /// A run of `ranks` ranks whose matrix takes at most `memory_bytes`, all ranks together. The other tests
    /// of hpcc derive their sizes from the matrix's.
    pub fn new(ranks: u32, memory_bytes: u64) -> Result<Self, HpccError> {
        let (rows, columns) = grid(ranks).ok_or(HpccError::NoRanks)?;
        // Every row and column of the grid needs a block, and the vectors of the FFT need a minimum.
        let least_order = BLOCK * u64::from(columns).max(3);
        let least = least_order * least_order * 8;
        if memory_bytes < least {
            return Err(HpccError::Memory { ranks, memory: memory_bytes, least });
        }
        let order = (memory_bytes / 8).isqrt() / BLOCK * BLOCK;
        Ok(Self { order, rows, columns })
    }

    /// Number of ranks of the grid.
    pub fn ranks(&self) -> u32 {
        self.rows * self.columns
    }

    /// Order of the matrix.
    pub fn order(&self) -> u64 {
        self.order
    }

    /// The text of the file. hpcc reads by line number and takes the first words of each line.
    pub fn text(&self) -> String {
        let Self { order, rows, columns } = self;
        let lines = [
            "HPLinpack benchmark input file".into(),
            "hpcc ignores lines 1 to 4".into(),
            "HPL.out      output file name".into(),
            "8            device out".into(),
            "1            number of problem sizes".into(),
            format!("{order}         Ns"),
            "1            number of block sizes".into(),
            format!("{BLOCK}           NBs"),
            "0            process mapping (0 = row-major)".into(),
            "1            number of process grids".into(),
            format!("{rows}            Ps"),
            format!("{columns}            Qs"),
            "16.0         threshold of the scaled residual".into(),
            "1            number of panel factorisations".into(),
            "2            PFACTs (2 = right)".into(),
            "1            number of recursive stopping criteria".into(),
            "4            NBMINs".into(),
            "1            number of panels in recursion".into(),
            "2            NDIVs".into(),
            "1            number of recursive panel factorisations".into(),
            "1            RFACTs (1 = Crout)".into(),
            "1            number of broadcasts".into(),
            "1            BCASTs (1 = 1rM)".into(),
            "1            number of look-ahead depths".into(),
            "1            DEPTHs".into(),
            "2            SWAP (2 = mix)".into(),
            "64           swapping threshold".into(),
            "0            L1 transposed".into(),
            "0            U transposed".into(),
            "1            equilibration".into(),
            "8            memory alignment in doubles".into(),
            "##### line 32 is ignored".into(),
            "0            number of additional problem sizes for PTRANS".into(),
            "1200         values of N".into(),
            "0            number of additional block sizes for PTRANS".into(),
            "40           values of NB".to_string(),
        ];
        lines.join("\n") + "\n"
    }
}

/// The most square grid of exactly this number of ranks, with no more rows than columns, as HPL recommends.
fn grid(ranks: u32) -> Option<(u32, u32)> {
    let rows = (1..=ranks.isqrt()).rev().find(|rows| ranks.is_multiple_of(*rows))?;
    Some((rows, ranks / rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_square_as_the_number_allows() {
        let expected = [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7)), (64, (8, 8))];
        for (ranks, shape) in expected {
            assert_eq!(grid(ranks), Some(shape));
        }
        assert_eq!(grid(0), None);
    }

    #[test]
    fn the_matrix_fits_the_memory() {
        // 8 MB hold 1000 x 1000 doubles; 960 is the largest multiple of the block size up to 1000.
        let Ok(input) = Input::new(4, 8_000_000) else { panic!("refused") };
        assert_eq!((input.order(), input.ranks()), (960, 4));
        assert!(matches!(Input::new(4, 1000), Err(HpccError::Memory { .. })));
        assert!(matches!(Input::new(0, 8_000_000), Err(HpccError::NoRanks)));
    }

    // Line numbers are those of hpcc's README, section 3.
    #[test]
    fn values_are_on_the_lines_where_hpcc_reads_them() {
        let Ok(input) = Input::new(6, 8_000_000) else { panic!("refused") };
        let text = input.text();
        let first = |number: usize| text.lines().nth(number - 1)?.split_whitespace().next();
        let expected = [(5, "1"), (6, "960"), (8, "80"), (11, "2"), (12, "3"), (13, "16.0"), (33, "0")];
        for (line, value) in expected {
            assert_eq!(first(line), Some(value), "line {line}");
        }
        assert_eq!(text.lines().count(), 36);
    }
}
