//! Days of the Gregorian calendar, without clocks or time zones.
//!
//! A [`Day`] counts days from 1970-01-01. Dates are printed from the count alone, so a data set
//! does not depend on where it was made. The conversions are the usual era arithmetic with years
//! that begin in March; cost: a dozen integer operations.

/// A day, as days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(i64);

/// The day on which every data set and every query says it is.
pub(crate) const TODAY: Day = Day::new(2008, 6, 20);

impl Day {
    /// The day of a date from the year 1 on.
    pub(crate) const fn new(year: i64, month: i64, day: i64) -> Day {
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let year_of_era = year - era * 400;
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Day(era * 146_097 + day_of_era - 719_468)
    }

    /// The day `days` later.
    pub(crate) const fn plus(self, days: i64) -> Day {
        Day(self.0 + days)
    }

    /// The number of days from `earlier` to this day.
    pub(crate) const fn since(self, earlier: Day) -> i64 {
        self.0 - earlier.0
    }

    /// Appends the date as `YYYY-MM-DD`.
    pub(crate) fn push_to(self, out: &mut Vec<u8>) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12 + 1;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        for (value, digits) in [(year, 4u32), (month, 2), (day, 2)] {
            if digits == 2 {
                out.push(b'-');
            }
            for place in (0..digits).rev() {
                out.push(b'0' + (value / 10i64.pow(place) % 10) as u8);
            }
        }
    }

    /// The date as text.
    pub(crate) fn text(self) -> String {
        let mut out = Vec::with_capacity(10);
        self.push_to(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_print_as_they_were_made() {
        for (year, month, day, text) in [
            (1970, 1, 1, "1970-01-01"),
            (2000, 2, 29, "2000-02-29"),
            (2008, 6, 20, "2008-06-20"),
            (1900, 3, 1, "1900-03-01"),
            (2007, 12, 31, "2007-12-31"),
        ] {
            assert_eq!(Day::new(year, month, day).text(), text);
        }
        assert_eq!(Day::new(1970, 1, 1), Day(0));
        assert_eq!(TODAY.plus(-365).text(), "2007-06-21");
        assert_eq!(Day::new(2008, 3, 1).since(Day::new(2008, 2, 1)), 29);
    }
}
