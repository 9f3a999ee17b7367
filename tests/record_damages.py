"""A record written by hand, and what may happen to it."""

BY_HAND = """\
bluke record 1
num_players 3
schedule 2,1nt
min_bid 1
bluke_lead none
points_per_trick 10
points_per_overtrick 1
teams no
num_suits 4
num_ranks 13
most_cards 2
deals given

hand 1 of 2   2 cards   dealer 2   turned up 7H
seat 0  AS KS
seat 1  2H AH
seat 2  HB TC
bids   seat 0 begins   2   1   1
trick 1   seat 0 leads AS 2H HB   seat 2 wins
trick 2   seat 2 leads TC KS AH   seat 1 wins
seat       0     1     2
tricks     0     1     1
points   -20    10    10
scores   -20    10    10

hand 2 of 2   1 card   dealer 0   no trump
seat 0  2C
seat 1  3C
seat 2  4C
bids   seat 1 begins   1

end   seat 2 is to bid
"""
"""Written by hand: no seed, and the cards of a hand in any order."""

_DAMAGES = """\
bluke record 1 => bluke record 2
0:14 '2' stands here, where '1' of 'bluke record 1' is due

bluke record 1 => hello
0:1 'hello' stands here, where 'bluke' of 'bluke record 1' is due

bluke record 1 =>
0:1 'num_players' stands here, where 'bluke' of 'bluke record 1' is due

num_players 3 => num_players 16
0:13 num_players is 16, but it must be a whole number from 2 to 15

num_players 3 => num_players x
0:13 'x' stands here, where the value of num_players, a whole number below 2**64, is due

num_players 3 => num_players
0:12 the line ends here, where the value of num_players, a whole number below 2**64, is due

num_players 3 =>
0:1 'schedule' stands here, where 'num_players' is due

num_players 3 => num_players 3 4
0:15 '4' stands here, where the end of the line is due

min_bid 1 => min_bit 1
0:1 'min_bit' stands here, where 'min_bid' is due

min_bid 1 => min_bid 01
0:9 '01' stands here, where the value of min_bid, a whole number below 2**64, is due

min_bid 1 => min_bid 2
0:9 min_bid is 2, but it must be a whole number from 0 to 1

min_bid 1 => min_bid 1 // min_bid 1
1:1 'min_bid' stands here, where 'bluke_lead' is due

schedule 2,1nt => schedule 2;1nt
0:10 '2;1nt' in the schedule '2;1nt' cannot be read: write numbers of cards as in ...

schedule 2,1nt => schedule 2,30
0:10 the number of cards of hand 1 of the schedule for 3 players is 30, but it must be a whole number from 1 to 18

schedule 2,1nt => schedule 2
11:11 '2' stands here, where '1' of 'hand 1 of 1' is due

schedule 2,1nt => schedule 2,1nt,1
11:11 '2' stands here, where '3' of 'hand 1 of 3' is due

schedule 2,1nt => schedule 2-1
23:35 'no' stands here, where 'turned' of 'turned up' is due

teams no => teams yes
0:7 teams are two pairs of partners, so num_players must be 4, but it is 3

teams no => teams maybe
0:7 'maybe' stands here, where the value of teams (yes, no) is due

bluke_lead none => bluke_lead high_low
0:12 bluke_lead is 'high_low', but it must be one of none, trump

num_ranks 13 => num_ranks 12
6:9 '2H' stands here, where a card of seat 1 that is still in the pack is due

num_suits 4 => num_suits 5
0:11 num_suits is 5, but it must be a whole number from 1 to 4

most_cards 2 => most_cards 1
0:12 most_cards (None stands for the most of the schedule) is 1, but it must be a whole number from 2 to 18

deals given =>
1:1 'hand' stands here, where 'seed' or 'deals' is due

deals given => deals gone
0:7 'gone' stands here, where 'given' of 'deals given' is due

deals given => seed 5
2:32 '2' stands here, where the seat of the dealer (1) is due

deals given => seed -1 // deals given
0:6 '-1' stands here, where a seed, a whole number below 2**64, is due

deals given => seed 18446744073709551616 // deals given
0:6 '18446744073709551616' stands here, where a seed, a whole number below 2**64, is due

hand 1 of 2   2 cards   dealer 2   turned up 7H => hand 1 of 3   2 cards   dealer 2   turned up 7H
0:11 '3' stands here, where '2' of 'hand 1 of 2' is due

hand 1 of 2   2 cards   dealer 2   turned up 7H => hand 1 of 2   3 cards   dealer 2   turned up 7H
0:15 '3' stands here, where '2' of '2 cards' is due

hand 1 of 2   2 cards   dealer 2   turned up 7H => hand 1 of 2   2 cards   dealer 3   turned up 7H
0:32 '3' stands here, where the seat of the dealer (0, 1, 2) is due

hand 1 of 2   2 cards   dealer 2   turned up 7H => hand 1 of 2   2 cards   dealer 1   turned up 7H
12:31 '0' stands here, where the seat of the dealer (2) is due

hand 1 of 2   2 cards   dealer 2   turned up 7H => hand 1 of 2   2 cards   dealer 2   turned up 7X
0:46 '7X' stands here, where a card that is still in the pack is due

hand 1 of 2   2 cards   dealer 2   turned up 7H => hand 1 of 2   2 cards   dealer 2   turned up AS
1:9 'AS' stands here, where a card of seat 0 that is still in the pack is due

hand 1 of 2   2 cards   dealer 2   turned up 7H => hand 1 of 2   2 cards   dealer 2   no trump
0:36 'no' stands here, where 'turned' of 'turned up' is due

hand 1 of 2   2 cards   dealer 2   turned up 7H => hand 1 of 2   2 cards   dealer 2
0:33 the line ends here, where 'turned' of 'turned up' is due

hand 1 of 2   2 cards   dealer 2   turned up 7H =>
0:1 'seat' stands here, where 'hand' is due

hand 2 of 2   1 card   dealer 0   no trump => hand 2 of 2   1 card   dealer 1   no trump
0:31 '1' stands here, where the seat of the dealer (0) is due

hand 2 of 2   1 card   dealer 0   no trump => hamd 2 of 2   1 card   dealer 0   no trump
0:1 'hamd' stands here, where 'hand' or 'bids' or 'trick' or 'seat' or 'tricks' or 'points' or 'scores' is due

hand 2 of 2   1 card   dealer 0   no trump =>
5:1 'end' stands here, where 'hand' or 'bids' or 'trick' or 'seat' or 'tricks' or 'points' or 'scores' is due

seat 1  2H AH => seat 1  2H A
0:12 'A' stands here, where a card of seat 1 that is still in the pack is due

seat 1  2H AH => seat 1  2H
0:11 the line ends here, where a card of seat 1 that is still in the pack is due

seat 1  2H AH => seat 1  2H AH 3H
0:15 '3H' stands here, where the end of the line is due

seat 1  2H AH => seat 1  2H 2H
0:12 '2H' stands here, where a card of seat 1 that is still in the pack is due

seat 1  2H AH => seat 1  2H 7H
0:12 '7H' stands here, where a card of seat 1 that is still in the pack is due

seat 1  2H AH =>
0:6 '2' stands here, where '1' of 'seat 1' is due

seat 1  2H AH => seat 2  2H AH
0:6 '2' stands here, where '1' of 'seat 1' is due

seat 1  2H AH => seat 1  2H 3C
4:30 'AH' stands here, where a card that seat 1 may play (3C) is due

seat 2  4C => seat 2  4C // seat 3  5C
1:1 'seat' stands here, where 'bids' or 'hand' or 'end' is due

bids   seat 0 begins   2   1   1 =>
0:1 'trick' stands here, where 'bids' or 'hand' or 'end' is due

bids   seat 0 begins   2   1   1 => bids   seat 1 begins   2   1   1
0:13 '1' stands here, where '0' of 'seat 0 begins' is due

bids   seat 0 begins   2   1   1 => bids   seat 0 begins   3   1   1
0:24 '3' stands here, where a bid that seat 0 may make (1, 2) is due

bids   seat 0 begins   2   1   1 => bids   seat 0 begins   2   1
0:29 the line ends here, where a bid that seat 2 may make (1, 2) is due

bids   seat 0 begins   2   1   1 => bids   seat 0 begins   2   1   1   1
0:36 '1' stands here, where the end of the line is due

bids   seat 0 begins   2   1   1 => bids   seat 0 begins   1   1   1
5:10 '-20' stands here, where '-10' of 'points -10 10 10' is due

bids   seat 1 begins   1 => bids   seat 1 begins
2:12 '2' stands here, where '1' of 'seat 1 is to bid' is due

bids   seat 1 begins   1 =>
1:12 '2' stands here, where '1' of 'seat 1 is to bid' is due

trick 1   seat 0 leads AS 2H HB   seat 2 wins => trick 1   seat 0 leads AS 2H HB   seat 1 wins
0:40 '1' stands here, where '2' of 'seat 2 wins' is due

trick 1   seat 0 leads AS 2H HB   seat 2 wins => trick 1   seat 0 leads AS 2H HB
0:32 the line ends here, where 'seat' of 'seat 2 wins' is due

trick 1   seat 0 leads AS 2H HB   seat 2 wins => trick 1   seat 0 leads AS 2H   seat 2 wins
0:32 'seat' stands here, where a card that seat 2 may play (TC, HB) is due

trick 1   seat 0 leads AS 2H HB   seat 2 wins => trick 1   seat 0 leads AS 2H
0:29 the line ends here, where a card that seat 2 may play (TC, HB) is due

trick 1   seat 0 leads AS 2H HB   seat 2 wins => trick 1   seat 0 leads QS 2H HB   seat 2 wins
0:24 'QS' stands here, where a card that seat 0 may play (KS, AS) is due

trick 1   seat 0 leads AS 2H HB   seat 2 wins => trick 1   seat 0 leads HB 2H AS   seat 2 wins
0:24 'HB' stands here, where a card that seat 0 may play (KS, AS) is due

trick 1   seat 0 leads AS 2H HB   seat 2 wins => trick 1   seat 1 leads AS 2H HB   seat 2 wins
0:16 '1' stands here, where '0' of 'seat 0 leads' is due

trick 1   seat 0 leads AS 2H HB   seat 2 wins =>
0:7 '2' stands here, where '1' of 'trick 1' is due

trick 2   seat 2 leads TC KS AH   seat 1 wins =>
0:1 'seat' stands here, where 'trick' or 'hand' or 'end' is due

points   -20    10    10 => points   -20    10    11
0:23 '11' stands here, where '10' of 'points -20 10 10' is due

points   -20    10    10 => points   -20    10
0:19 the line ends here, where '10' of 'points -20 10 10' is due

points   -20    10    10 =>
0:1 'scores' stands here, where 'points' of 'points -20 10 10' is due

scores   -20    10    10 => scores   -20    10    10    0
0:29 '0' stands here, where the end of the line is due

tricks     0     1     1 => tricks     1     0     1
0:12 '1' stands here, where '0' of 'tricks 0 1 1' is due

seat       0     1     2 => seat       0     1
0:19 the line ends here, where '2' of 'seat 0 1 2' is due

end   seat 2 is to bid =>
-2:25 the line ends here, where a bid that seat 2 may make (1) is due

end   seat 2 is to bid => end   seat 2 is to play
0:20 'play' stands here, where 'bid' of 'seat 2 is to bid' is due

end   seat 2 is to bid => end   seat 2 is to bid // end
1:1 'end' stands here, where the end of the text is due

end   seat 2 is to bid => end   seat 2 is to
0:19 the line ends here, where 'bid' of 'seat 2 is to bid' is due

end   seat 2 is to bid => end   winners 1 2
0:7 'winners' stands here, where 'seat' of 'seat 2 is to bid' is due
"""
"""Pairs of lines: a line of BY_HAND and those that come in its place, if any, with slashes between them; how many lines
further the complaint points, its column and its problem.
"""


def _damages() -> list[tuple[str, list[str], int, int, str]]:
    cases = []
    for block in _DAMAGES.strip().split("\n\n"):
        change, complaint = block.split("\n")
        line, damaged = change.split(" =>")
        place, problem = complaint.split(" ", 1)
        further, column = map(int, place.split(":"))
        lines = [text.strip() for text in damaged.split(" // ")] if damaged else []
        cases.append((line, lines, further, column, problem))
    return cases


DAMAGES = _damages()
