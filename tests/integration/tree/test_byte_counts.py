"""test_byte_counts.py -- no byte count in libdispatch, daemon and plugins is a product made by hand (tests/lib/byte_counts.py)."""

import byte_counts
from harness import equal, main


def test_the_checker_finds_what_it_should():
    byte_counts.self_test()


def test_no_byte_count_is_a_product():
    equal(byte_counts.faults_of(byte_counts.sources()), [], "products in byte counts")


if __name__ == "__main__":
    main()
