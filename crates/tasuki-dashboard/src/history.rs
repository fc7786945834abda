//! Figures of the last hour, second by second, and of the last day, half minute by half minute. Pure.
//!
//! A row holds one figure for each column. Both rings have their full size from the beginning, so that no
//! length of time makes them larger ([`History::bytes`]); the operating system gives memory as they fill.

/// Steps of an hour, each a second.
const HOUR_ROWS: usize = 3600;
/// Seconds of a step of the day.
const DAY_STEP: u64 = 30;
/// Steps of a day.
const DAY_ROWS: usize = 86_400 / DAY_STEP as usize;

/// How far back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Hour,
    Day,
}

/// The figures of one column, oldest first. One that is not known is not a number.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Seconds between two figures.
    pub step: u64,
    /// The second at which the last one ends.
    pub end: u64,
    /// Means over the steps.
    pub mean: Vec<f32>,
    /// The largest of each step.
    pub most: Vec<f32>,
}

/// Rows of equal length, the latest of them.
#[derive(Debug)]
struct Ring {
    columns: usize,
    rows_max: usize,
    /// Number of the step behind the latest row.
    next: u64,
    rows: usize,
    values: Vec<f32>,
}

impl Ring {
    fn new(columns: usize, rows_max: usize) -> Self {
        Self { columns, rows_max, next: 0, rows: 0, values: Vec::with_capacity(columns * rows_max) }
    }

    /// Adds the row of a step; steps since the latest row are not known.
    fn put(&mut self, step: u64, row: &[f32]) {
        if self.rows == 0 {
            self.next = step;
        }
        self.fill(step);
        self.push(row);
    }

    /// Adds rows that are not known, up to a step. Of more than the ring holds, the first are left out.
    fn fill(&mut self, step: u64) {
        let gap = step.saturating_sub(self.next).min(self.rows_max as u64);
        if gap > 0 {
            self.next = step - gap;
            let unknown = vec![f32::NAN; self.columns];
            (0..gap).for_each(|_| self.push(&unknown));
        }
    }

    fn push(&mut self, row: &[f32]) {
        let at = (self.next % self.rows_max as u64) as usize * self.columns;
        // Until the ring is full, rows stand in the order in which they came.
        if self.rows < self.rows_max {
            self.values.extend_from_slice(row);
            self.rows += 1;
            if self.rows == self.rows_max {
                // From here on a step's number says where its row is.
                let first = ((self.next + 1) % self.rows_max as u64) as usize;
                self.values.rotate_right(first * self.columns);
            }
        } else {
            self.values[at..at + self.columns].copy_from_slice(row);
        }
        self.next += 1;
    }

    /// The figures of a column, oldest first.
    fn column(&self, column: usize) -> impl Iterator<Item = f32> {
        let is_full = self.rows == self.rows_max;
        let oldest = if is_full { (self.next % self.rows_max as u64) as usize } else { 0 };
        (0..self.rows).map(move |row| {
            let row = (oldest + row) % self.rows_max;
            self.values[row * self.columns + column]
        })
    }
}

/// A step of the day that is not over.
#[derive(Debug)]
struct Open {
    step: u64,
    sums: Vec<f32>,
    counts: Vec<u16>,
    most: Vec<f32>,
}

impl Open {
    fn new(columns: usize, step: u64) -> Self {
        Self { step, sums: vec![0.0; columns], counts: vec![0; columns], most: vec![f32::NAN; columns] }
    }

    fn add(&mut self, row: &[f32]) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            self.sums[column] += value;
            self.counts[column] += 1;
            self.most[column] = self.most[column].max(*value);
        }
    }

    /// Means, and behind them the largest figures.
    fn row(&self) -> Vec<f32> {
        // Of no figure the mean is 0 / 0, which is not a number.
        let means = self.sums.iter().zip(&self.counts).map(|(sum, count)| sum / f32::from(*count));
        means.chain(self.most.iter().copied()).collect()
    }
}

/// What is kept of all columns.
#[derive(Debug)]
pub(crate) struct History {
    columns: usize,
    hour: Ring,
    day: Ring,
    open: Open,
}

impl History {
    /// Of so many columns.
    pub fn new(columns: usize) -> Self {
        let day = Ring::new(2 * columns, DAY_ROWS);
        Self { columns, hour: Ring::new(columns, HOUR_ROWS), day, open: Open::new(columns, 0) }
    }

    /// Most memory that it ever takes, bytes.
    pub const fn bytes(columns: usize) -> usize {
        size_of::<f32>() * columns * (HOUR_ROWS + 2 * DAY_ROWS)
    }

    /// Adds the figures of a second. A second that is not later than the one before is left out, and so is a
    /// row of another length.
    pub fn record(&mut self, second: u64, row: &[f32]) {
        if row.len() != self.columns || (self.hour.rows > 0 && second < self.hour.next) {
            return;
        }
        let step = second / DAY_STEP;
        if step != self.open.step {
            if self.hour.rows > 0 {
                self.day.put(self.open.step, &self.open.row());
                self.day.fill(step);
            }
            self.open = Open::new(self.columns, step);
        }
        self.open.add(row);
        self.hour.put(second, row);
    }

    /// What is known of a column; `None`: there is no such column.
    pub fn series(&self, span: Span, column: usize) -> Option<Series> {
        (column < self.columns).then(|| match span {
            Span::Hour => {
                let mean: Vec<f32> = self.hour.column(column).collect();
                Series { step: 1, end: self.hour.next, most: mean.clone(), mean }
            }
            Span::Day => Series {
                step: DAY_STEP,
                end: self.day.next * DAY_STEP,
                mean: self.day.column(column).collect(),
                most: self.day.column(self.columns + column).collect(),
            },
        })
    }
}

#[cfg(test)]
mod tests;
