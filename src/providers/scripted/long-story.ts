/** Long enough to cancel it, kill the process, or disconnect and reconnect while it streams. */
export const LONG_STORY = `Once there was a lighthouse keeper called Ada, and on the rock below her lighthouse grew a kelp.

The kelp was not beautiful. It was brown and smelled of harbor. But at its foot it had a holdfast: a knot of small fingers that had taken hold of the rock many years ago and had not let go since.

"Why do you hold on so tightly?" asked the gulls. "There is a whole sea to see."

"I do see it," said the kelp. "It comes by twice a day."

In the first winter a storm came that moved the stones of the pier. The waves pulled at the kelp from the left, and then from the right, and then from both sides at once. A part of it tore off and was carried away. In the morning the gulls came to look. "You have lost something," they said.

"I have lost a leaf," said the kelp. "I remember exactly which one, and I shall grow it again from there."

Ada, who kept a log of everything, wrote: storm, pier damaged, kelp present.

In the second winter the light went out. It was nobody's fault: a pipe froze, a valve stuck, and the oil stayed where it was. Ada climbed the two hundred steps with a lamp in her hand. At every landing she wrote the number of the landing on the wall with a piece of chalk, so that if she had to turn back she would know how far she had come and would not have to count again.

She did have to turn back, twice. The first time the wind blew out her lamp. The second time she heard a ship's bell, ran down to answer it, and found that it was the wind again. Each time she read the last chalk mark and went on from there. Not once did she climb a flight for nothing, and not once did she light a lamp that was already burning.

When the light shone again, a captain far out at sea said to his mate: "I thought we had lost it." The mate looked in his book. "It was gone for eleven minutes," he said. "It is on the list."

In the third winter a young inspector came from the city with a leather bag. He asked Ada what she did when things went wrong.

"I write down what I am going to do," said Ada, "then I do it, then I write down how it went."

"And if you are interrupted in between?"

"Then I know that I do not know," said Ada, "and I go and look."

The inspector thought that this was a slow way to run a lighthouse, and said so. That night the storm of the third winter came, which was the worst of the three. It took the inspector's hat, the inspector's boat and the inspector's opinion. In the morning he asked whether he might have a piece of chalk.

Years went by. The gulls changed, as gulls do. The inspector became an old man who told everybody about chalk. The pier was moved, and moved back. Ada handed the log to another keeper, who read it from the first page to the last and then knew everything that Ada had known, apart from what it had felt like.

And the kelp? It is still there. It has been torn by every storm since, and after every storm it has gone on from where it was. If you climb down at low tide you can try to pull it off the rock. People do. It does not mind.

It simply holds fast.`
