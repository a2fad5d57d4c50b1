//! What a person may have meant: the known names that are nearest to one that is not known.

/// How many names are offered.
const OFFERED: usize = 5;

/// Returns the five names with the smallest edit distance, nearest first; names of the same distance in their order.
#[must_use]
pub fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut by_distance: Vec<(usize, &str)> =
        known.into_iter().map(|name| (distance(text, name), name)).collect();
    by_distance.sort_by_key(|(distance, _)| *distance);
    by_distance.into_iter().take(OFFERED).map(|(_, name)| name).collect()
}

/// Counts the characters to insert, remove or replace to make one text of the other.
#[must_use]
pub fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, left) in one.chars().zip(1..) {
        let mut diagonal = std::mem::replace(&mut row[0], left);
        for (at, char) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(above != *char);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-K09
    #[test]
    fn the_nearest_names_come_first() {
        for (one, other, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("ä", "a", 1),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
        let known = ["add-api", "add-cart", "drop-cart", "a", "b", "c", "add-carts"];
        let found = nearest("add-card", known);
        assert_eq!(found, ["add-cart", "add-carts", "add-api", "drop-cart", "a"]);
        assert!(nearest("x", []).is_empty());
    }
}
