# Counts words and the pairs they form, then prints the commonest.
use strict;
use warnings;

my (%words, %pairs);
while (my $line = <>) {
    my @line = split ' ', $line;
    next unless @line > 1;
    $words{$_}++ for @line;
    $pairs{"$line[$_] $line[$_ + 1]"}++ for 0 .. int(($#line - 1) / 4);
}
my @common = sort { $words{$b} <=> $words{$a} || $a cmp $b } keys %words;
print "$_ $words{$_}\n" for @common[0 .. 9];
print scalar(keys %pairs), " pairs\n";
