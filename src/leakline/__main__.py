"""`python -m leakline`."""

from leakline.cli.main import main

raise SystemExit(main())
