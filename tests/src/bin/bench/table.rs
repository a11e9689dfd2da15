//! A Markdown table, which is as readable in a terminal.

use std::fmt;

/// Rows of texts under headings: the first column is of words, the others are of numbers.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// One with these headings and no rows.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { rows: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(Vec::from(cells));
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        // A Markdown delimiter has three characters at least.
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default().max(3)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, row) in self.rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                let width = self.width(column);
                if column == 0 || cell.parse::<f64>().is_err() && index > 0 {
                    write!(f, "| {cell:width$} ")?;
                } else {
                    write!(f, "| {cell:>width$} ")?;
                }
            }
            writeln!(f, "|")?;
            if index == 0 {
                for column in 0..row.len() {
                    let (dashes, end) = ("-".repeat(self.width(column)), if column == 0 { "-" } else { ":" });
                    write!(f, "|-{dashes}{end}")?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_markdown_with_aligned_columns() {
        let mut table = Table::new(["", "median ms", "p99"]);
        table.row(["watcher".to_owned(), "1.5".to_owned(), "12.0".to_owned()]);
        assert_eq!(
            table.to_string(),
            "|         | median ms |  p99 |\n\
             |---------|----------:|-----:|\n\
             | watcher |       1.5 | 12.0 |\n"
        );
    }
}
