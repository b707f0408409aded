"""The static checker and other analysers on sources of Debian packages."""
