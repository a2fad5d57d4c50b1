Feature: Searching the catalogue
  Readers find a book by a word of its title, so that they need not walk the shelves.

  Scenario: A word of the title finds the book
    Given the catalogue holds "The Old Lighthouse"
    When a reader searches for "lighthouse"
    Then "The Old Lighthouse" is listed

  Scenario Outline: A search that finds nothing says so
    Given the catalogue holds "The Old Lighthouse"
    When a reader searches for "<words>"
    Then the answer is "Nothing found for <words>"

    Examples:
      | words    |
      | harbour  |
      | tower    |
