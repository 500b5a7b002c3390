//! Statistics of the numbers in a table or a text.

use oxikit::prelude::*;

/// Statistics of one series of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The heading of the column, or `numbers` for a text.
    pub name: String,
    pub count: usize,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub median: f64,
    /// The standard deviation of the sample; 0 for one number.
    pub deviation: f64,
    /// The slope of the line of best fit, per row.
    pub trend: f64,
}

/// The series of a text: the columns of a table with commas, else all of its numbers as one.
pub fn series_of(text: &str) -> Vec<Series> {
    let columns = columns(text);
    if !columns.is_empty() {
        return columns
            .into_iter()
            .filter_map(|(name, values)| Series::of(name, &values))
            .collect();
    }
    let values: Vec<f64> = numbers(text).collect();
    Series::of("numbers".to_owned(), &values).into_iter().collect()
}

impl Series {
    fn of(name: String, values: &[f64]) -> Option<Self> {
        let count = values.len();
        let size = count as f64;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let mean = values.iter().sum::<f64>() / size;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        let deviation = if count > 1 { (squares / (size - 1.0)).sqrt() } else { 0.0 };
        Some(Self { name, count, min, max, mean, median, deviation, trend: trend(values, mean) })
    }

    /// The statistics in a sentence.
    pub fn sentence(&self) -> String {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        let Self { name, count, min, max, mean, median, trend, .. } = self;
        let direction = match *trend {
            trend if trend > 0.0 => "rising",
            trend if trend < 0.0 => "falling",
            _ => "level",
        };
        format!(
            "{name}: {count} values from {} to {}, mean {}, median {}, {direction}.",
            round(*min),
            round(*max),
            round(*mean),
            round(*median)
        )
    }
}

fn trend(values: &[f64], mean: f64) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (row, value) in values.iter().enumerate() {
        let distance = row as f64 - middle;
        covariance += distance * (value - mean);
        variance += distance * distance;
    }
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// The numeric columns of a table: a heading and rows with the same number of commas.
fn columns(text: &str) -> Vec<(String, Vec<f64>)> {
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(',').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells.len() > 1)
        .collect();
    let Some((heading, rows)) = rows.split_first() else { return Vec::new() };
    if rows.is_empty() || rows.iter().any(|row| row.len() != heading.len()) {
        return Vec::new();
    }
    let column = |(at, name): (usize, &&str)| {
        let values: Option<Vec<f64>> = rows.iter().map(|row| row[at].parse().ok()).collect();
        Some(((*name).to_owned(), values?))
    };
    heading.iter().enumerate().filter_map(column).collect()
}

/// The numbers of a text. Years are left out: they date a statement and measure nothing.
fn numbers(text: &str) -> impl Iterator<Item = f64> + '_ {
    let words = text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-')));
    let is_year = |value: &f64| value.fract() == 0.0 && (1900.0..=2100.0).contains(value);
    words
        .filter_map(|word| word.trim_matches(['.', '-']).parse().ok())
        .filter(move |value| !is_year(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_table_are_series() {
        let series = series_of("year,price,name\n2024,10,a\n2025,8,b\n2026,6,c");
        let names: Vec<_> = series.iter().map(|it| (it.name.as_str(), it.mean, it.trend)).collect();
        assert_eq!(names, [("year", 2025.0, 1.0), ("price", 8.0, -2.0)]);
        assert_eq!(series[1].deviation, 2.0);
        assert_eq!(
            series[1].sentence(),
            "price: 3 values from 6 to 10, mean 8, median 8, falling."
        );
    }

    #[test]
    fn numbers_of_a_text_are_one_series() {
        let series = series_of("In 2025 it fell from 140.5 to 99.5 euros, by 29 %.");
        assert_eq!((series[0].count, series[0].median), (3, 99.5));
        assert_eq!(series_of("No numbers in 2025."), []);
    }
}
