#!/bin/sh
# Prints a file of this folder with an installation's places in the place of Debian's.
#   with_places.sh FILE PREFIX BINDIR LIBDIR
exec sed -e "s,/usr/bin/smelt,$3/smelt,g" -e "s,{SMELT:-smelt},{SMELT:-$3/smelt}," \
  -e "s,for folder in ,&$4/smelt ," \
  -e "s,^local prefix = .*,local prefix = \"$2\"," -e "s,^local libdir = .*,local libdir = \"$4\"," \
  -e "s,^set prefix .*,set prefix $2," -e "s,^set libdir .*,set libdir $4," "$1"
