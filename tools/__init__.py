"""Development tools of this repository; none of them is installed with the packages."""
